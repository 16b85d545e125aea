"""What a run is worth: selection rules over curves, and the 1-WL ceiling of a data set."""
