"""Models of tables: columns by name go in, labels come out."""
