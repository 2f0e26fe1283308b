"""Data files: tables of named columns go in, models, predictions and reports come out."""
