"""What a reader sees: figures and tables made from records."""
