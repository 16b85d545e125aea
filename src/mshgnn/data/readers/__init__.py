"""Readers of a user's own files; ``load_own`` is their one door."""
