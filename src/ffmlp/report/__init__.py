"""Pages about a model, and what other pages share with them: tables, figures, records of runs."""
