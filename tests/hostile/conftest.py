"""The engines of benchmarks/ that the hostile tests run for a few seconds each."""

from __future__ import annotations

import sys
from pathlib import Path

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")

if BENCHMARKS not in sys.path:
    sys.path.append(BENCHMARKS)
