"""The blocks that models are made of, one file for each attention and feed-forward kind."""
