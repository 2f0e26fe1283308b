"""The design of a network from samples: blobs, hyperplanes, pruning, and the stages of each design."""
