"""Explanations of predictions: the contributions of hyperplanes and features."""
