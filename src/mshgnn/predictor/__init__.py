"""A model of one's own data, from a file to predictions: train, keep, predict, evaluate, embed."""
