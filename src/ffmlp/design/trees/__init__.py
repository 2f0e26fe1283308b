"""Trees that correct a readout: growth, ensembles, weights."""
