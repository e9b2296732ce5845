"""Measuring an inference engine: it is started here with random weights, timed, and stopped again."""
