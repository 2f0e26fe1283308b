"""From data frames to numbers: columns, categories, missing values, maps of features."""
