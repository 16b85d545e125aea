"""Harmonic message passing on graphs."""
