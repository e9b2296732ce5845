"""Micro-benchmarks of the machine's own GPUs through PyTorch, which is imported only here."""
