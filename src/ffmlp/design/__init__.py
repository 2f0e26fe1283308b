"""What makes a network of samples: blobs, hyperplanes, pruning, and the stages of each design."""
