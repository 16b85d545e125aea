"""Which nodes, edges and substructures carry a prediction, and whether to believe it."""
