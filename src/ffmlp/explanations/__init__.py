"""Decisions explained: what each hyperplane and each feature adds to them."""
