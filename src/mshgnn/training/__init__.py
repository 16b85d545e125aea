"""Training one fold: the loop, metrics, seeding, and the curves it leaves behind."""
