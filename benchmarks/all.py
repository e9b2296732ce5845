"""All figures of speed on this machine, in one table with the facts of the machine.

    python benchmarks/all.py [--quick] [--only cold,search]

Runs the other files here one after another, each in a process of its own on one thread, and shows what they
print beside how long they took. `--quick` takes about two minutes and fewer repetitions.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import planner

HERE = Path(__file__).parent

RUNS = {
    "cold": ("a fresh process", ["cold_start.py"], ["cold_start.py", "--runs", "3"]),
    "sweep": ("operating points evaluated", ["sweep.py"], ["sweep.py"]),
    "sweep run": ("rows that a sweep writes", ["sweep_run.py"], ["sweep_run.py", "2000"]),
    "search": ("a search up to 16 GPUs", ["search.py", "--every"], ["search.py"]),
    "simulation": (
        "requests simulated one by one",
        ["simulation.py"],
        ["simulation.py", "--requests", "10000"],
    ),
    "fleet": ("a fleet of 10 types, 5 models, 24 hours", ["fleet.py"], ["fleet.py"]),
    "dashboard": ("pages of the dashboard", ["dashboard_load.py"], ["dashboard_load.py", "4", "2"]),
}
"""What is measured, with the arguments of the whole run and of the quick one."""

LIMIT_S = 1200


def machine() -> list[tuple[str, str]]:
    """Return what a figure of speed depends on."""
    cpu = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor() or "not known",
    )
    memory = next((line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), None)
    return [
        ("planner", planner.__version__),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("system", f"{platform.system()} {platform.release()}, {platform.machine()}"),
        ("processor", f"{cpu}, {os.cpu_count()} cores"),
        ("memory", f"{int(memory) * 1024 / 1e9:.1f} GB" if memory else "not known"),
        ("load before", ", ".join(f"{load:.2f}" for load in os.getloadavg()) + " (1, 5, 15 min)"),
    ]


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def measured(words: list[str]) -> tuple[int, float, list[str]]:
    """Return the exit code of one file here, how long it took [s], and what it printed."""
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    path = os.pathsep.join(filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")]))
    begin = time.perf_counter()
    try:
        ran = subprocess.run(
            [sys.executable, str(HERE / words[0]), *words[1:]],
            env={**os.environ, **one_thread, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return 1, time.perf_counter() - begin, [f"given up after {LIMIT_S} s"]
    said = [line for line in ran.stdout.splitlines() if line.strip()]
    if ran.returncode:
        said += ran.stderr.strip().splitlines()[-1:]
    return ran.returncode, time.perf_counter() - begin, said


def main() -> None:
    """Run what was chosen and print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--only", help=f"some of {', '.join(RUNS)}, with commas")
    options = parser.parse_args()
    chosen = [name.strip() for name in options.only.split(",")] if options.only else list(RUNS)
    unknown = [name for name in chosen if name not in RUNS]
    if unknown:
        parser.error(f"--only: there is no {', '.join(unknown)}; there are {', '.join(RUNS)}")
    for label, fact in machine():
        print(f"{label:12} {fact}")
    failed = []
    for name in chosen:
        title, whole, quick = RUNS[name]
        code, seconds, said = measured(quick if options.quick else whole)
        print(f"\n{name}: {title} ({seconds:.0f} s{', failed' if code else ''})")
        print("\n".join(f"  {line}" for line in said), flush=True)
        failed += [name] if code else []
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
