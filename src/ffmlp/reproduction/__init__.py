"""The paper's experiments: its tables and figures beside what this package measures."""
