"""Speed, memory and scale: every figure is a ratio measured in one run."""
