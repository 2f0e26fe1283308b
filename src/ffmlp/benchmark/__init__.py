"""FF-MLP and other classifiers, compared on many data sets."""
