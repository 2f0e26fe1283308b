"""What predicts, with NumPy alone: features, hyperplanes, stages, network."""
