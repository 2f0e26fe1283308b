"""Pages of tables and figures, and those about a model."""
