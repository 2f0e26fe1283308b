"""Reports on a model, and what other pages share with them: layout, records of runs."""
