"""Molecules by the commands a user has: ours, a forest and chemprop on the same splits, one record for each run."""
