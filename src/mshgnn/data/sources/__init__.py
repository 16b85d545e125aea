"""Where the data sets of the catalogue come from: upstream files, checked, read once and kept."""
