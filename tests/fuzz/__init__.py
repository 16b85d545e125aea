"""Generated cases in numbers that a test suite has no time for: ``make fuzz``, and fifty of each kind in every run."""
