"""How long the work of a model takes: operators, efficiency, messages and the steady state."""
