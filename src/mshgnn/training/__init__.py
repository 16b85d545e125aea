"""Training one fold: the objective, the loop, seeding, and the curves it leaves behind."""
