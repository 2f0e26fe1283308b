"""Attacks on the package with inputs that are made up: see README.md."""
