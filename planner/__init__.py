"""Does a model fit on these accelerators, how fast, at what cost, and how sure is that."""
