"""Prediction with NumPy alone: features, hyperplanes, stages, network."""
