"""Distances of samples to another class: exact, bounded, and found by attacks."""
