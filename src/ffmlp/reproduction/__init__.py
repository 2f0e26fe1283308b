"""The paper's experiments: its tables and figures next to those of this package."""
