"""Mutate real files of a kind, seeded: each gives an answer or one clear line, in bounded time and memory.

python benchmarks/fuzz.py --target results --runs 10000
python benchmarks/fuzz.py --list

Bytes are flipped, files cut off, nested 10,000 levels deep, packed or written in other encodings, keys
dropped and doubled, values changed in type and size, YAML given tags and references that stand for a billion
words. A mutation passes when the file gives an answer or a `PlannerError` of one line. It fails with another
exception, over `LONGEST_S` or `MOST_MEMORY`, and where what stands in it starts a process, opens a
connection, writes a file, or reads one that nobody named.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz_targets import ROOT, Target, targets
from mutations import mutate

from planner.errors import PlannerError

LONGEST_S = 10.0
"""Processor time of one file [s]."""

MOST_MEMORY = 4 * 2**30
"""Address space of the whole process [bytes]."""

LONGEST_LINE = 2000
"""Characters of a refusal."""

PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
NEVER = (*PROCESSES, "socket.connect", "socket.bind")
"""What no file may lead to; the names are those of Python's audit events."""

HOMES = tuple({str(ROOT), sys.prefix, sys.base_prefix, "/usr/", "/lib", "/dev/null", "/proc/", "/sys/"})
"""Where the interpreter and planner read from."""


class TooLong(BaseException):
    """The time is up."""


class Watch:
    """Hears from the interpreter what is opened and started while a file is read."""

    def __init__(self) -> None:
        self.folder = ""
        self.strict = False
        self.on = False
        self.heard: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event in NEVER:
            self.heard.append(f"{event} {str(given)[:80]}")
        elif event == "open" and isinstance(given[0], str | bytes):
            name = os.path.abspath(os.fsdecode(given[0]))
            flags = given[2] if isinstance(given[2], int) else 0
            writes = bool(flags & (os.O_WRONLY | os.O_RDWR)) and "__pycache__" not in name
            known = name.startswith((self.folder, *HOMES))
            if (writes and name != os.devnull) or (self.strict and not known):
                self.heard.append(f"open {name[:80]}")


@dataclass(slots=True)
class Tally:
    """What became of the mutations of one target."""

    target: str
    seeds: int
    runs: int = 0
    answered: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    seconds: float = 0.0

    def __str__(self) -> str:
        """Return one line."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        return (
            f"{self.target}: {self.runs:,} mutations of {self.seeds} seeds: {len(self.failures)} failures; "
            f"{self.answered:,} answered, {self.refused:,} refused; {self.seconds:.0f} s, "
            f"slowest {self.slowest_s:.2f} s, peak of the process {peak:,.0f} MiB"
        )


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooLong` after so much time of the processor."""

    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def fuzz(name: str, target: Target, runs: int, seed: int, watch: Watch, keep: Path | None = None) -> Tally:
    """Read mutated files.

    Parameters
    ----------
    name, target : str, Target
        What is fuzzed.
    runs, seed : int
        How many, and which.
    watch : Watch
        What hears of files and processes.
    keep : Path, optional
        Folder in which files that fail are kept.

    Returns
    -------
    Tally
    """
    rng = random.Random(f"{name}:{seed}")
    seeds = target.seeds()
    tally = Tally(name, len(seeds))
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / f"mutated{target.suffix}"
        watch.folder, watch.strict = folder, target.strict
        for turn in range(runs):
            called, raw = seeds[turn % len(seeds)]
            kind, mutated = mutate(raw, rng)
            path.write_bytes(mutated)
            for line in _read(target, path, tally, watch):
                tally.failures.append(f"{name} {turn} {called} {kind}: {line}")
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{name}-{turn}{target.suffix}").write_bytes(mutated)
            tally.kinds[kind] += 1
    tally.seconds = time.perf_counter() - began
    return tally


def _read(target: Target, path: Path, tally: Tally, watch: Watch) -> list[str]:
    """Read one file and return what is wrong with the outcome."""
    watch.heard.clear()
    began = time.process_time()
    watch.on = True
    try:
        with limited(LONGEST_S):
            wrong = target.read(path)
        tally.answered += 1
    except PlannerError as refusal:
        tally.refused += 1
        wrong = refusal_faults(str(refusal))
    except TooLong:
        wrong = [f"over {LONGEST_S:.0f} s: {traceback.format_exc(limit=-3)}"]
    except Exception:
        wrong = [traceback.format_exc(limit=-4)]
    finally:
        watch.on = False
    tally.runs += 1
    tally.slowest_s = max(tally.slowest_s, time.process_time() - began)
    return [*wrong, *watch.heard]


def refusal_faults(line: str) -> list[str]:
    """Return what is wrong with the line of a refusal."""
    if not line.strip() or "\n" in line or len(line) > LONGEST_LINE:
        return [f"a refusal of {len(line)} characters that is not one line: {line[:120]!r}"]
    try:
        line.encode()
    except UnicodeEncodeError:
        return [f"a refusal that cannot be written: {line[:120]!r}"]
    return []


def main() -> int:
    """Run mutations and report."""
    known = dict(targets())
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", action="append", choices=list(known), help="one or several; all without")
    parser.add_argument("--runs", type=int, default=10_000, help="of each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the files that fail here")
    parser.add_argument("--list", action="store_true", help="name the targets")
    asked = parser.parse_args()
    if asked.list:
        print("\n".join(known))
        return 0
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    watch, failures = Watch(), 0
    for name in asked.target or known:
        tally = fuzz(name, known[name], asked.runs, asked.seed, watch, asked.keep)
        for line in tally.failures[:20]:
            print(line)
        print(tally, flush=True)
        failures += len(tally.failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
