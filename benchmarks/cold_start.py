"""How long `planner fit` and `planner --help` take in a fresh process, and how much memory they use.

Run it with the interpreter that planner is installed in:

    python benchmarks/cold_start.py [--runs 10]

Prints the best of n runs: seconds of wall time, those of the processor, which a busy machine changes less,
and the largest resident memory in MB (1e6 bytes).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
COMMANDS = (
    ("--help",),
    ("fit", "--model", "kimi-k3", "--gpu", "b200"),
    ("fit", "--model", "kimi-k3", "--gpu", "mi355x,b200,b300", "--price", "mi355x=2.50,b200=4.25,b300=6.00"),
    ("models",),
    ("--version",),
)
COMPLETION = {"_PLANNER_COMPLETE": "bash_complete", "COMP_WORDS": "planner fit --gpu mi3", "COMP_CWORD": "3"}
"""What a shell asks when a name is to be completed; the words are the last command here."""
PROGRAM = "from planner.cli import main; main()"


def measure(arguments: tuple[str, ...], more: Mapping[str, str] | None = None) -> tuple[float, float, float]:
    """Return wall time [s], processor time [s] and peak resident memory [MB] of one fresh process."""
    # Installed packages are compiled; a checkout is once its modules may be kept compiled.
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment |= more or {}
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], env=environment, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        sys.exit(f"planner {' '.join(arguments)} left with {process.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def show(runs: int, name: str, arguments: tuple[str, ...], more: Mapping[str, str] | None = None) -> None:
    """Print the least of each figure of some processes."""
    seconds, processor, megabytes = map(
        min, zip(*(measure(arguments, more) for _ in range(runs)), strict=True)
    )
    print(f"{seconds:6.3f} s  {processor:6.3f} CPU s  {megabytes:6.1f} MB  {name}")


def main() -> None:
    """Measure every command and print one line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10, help="processes for each command (default 10)")
    runs = max(1, parser.parse_args().runs)
    print(f"best of {runs} fresh processes")
    for arguments in COMMANDS:
        show(runs, f"planner {' '.join(arguments)}", arguments)
    show(runs, f"completing {COMPLETION['COMP_WORDS']}", (), COMPLETION)


if __name__ == "__main__":
    main()
