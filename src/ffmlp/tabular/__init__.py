"""The columns of a table, and the model of a table."""
