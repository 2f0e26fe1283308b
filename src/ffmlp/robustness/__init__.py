"""How far a sample is from the next class: exact distances, bounds and attacks."""
