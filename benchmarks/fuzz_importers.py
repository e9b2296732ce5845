"""Mutate the result files of the tests, seeded, and import each: nothing may raise but a clear refusal.

python benchmarks/fuzz_importers.py --count 10000

Bytes are flipped, files cut off, keys dropped and doubled, values changed in type and size. A mutation passes
when the file gives rows or one line for what is wrong; a traceback, a row that could not be read back, or a
line that names no place fails.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from planner.catalogue import load_catalogue
from planner.measurement.csvtable import CsvRow, CsvTable
from planner.measurement.importers.importing import Imported, ImportedFile, Names, read_file
from planner.measurement.serving_points import COLUMNS, UnreadablePoint, parse_points
from planner.measurement.startup_logs import UnreadableLog, parse_log
from planner.report.imported import ImportReport

DATA = Path(__file__).parents[1] / "tests" / "data"
STATED = {"model": "gpt-oss-120b", "gpu": "h200", "n_gpus": "8", "tp": "8"}
LARGEST = 60_000
"""Bytes of a file that is mutated; longer ones are cut at a line, so that the run does not take hours."""

ODD: tuple[Any, ...] = (
    None,
    True,
    [],
    {},
    "",
    "NaN",
    "inf",
    "x" * 5000,
    "1e999",
    "\x00",
    "\ud800",
    -1,
    0,
    1e308,
    10**400,
    float("nan"),
    float("inf"),
    [[[]]],
    {"unit": "ms", "avg": "x"},
    "\u202e\u0663",
)


def mutate(raw: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Return one mutation of a file and what it is called."""
    kinds: list[Callable[[bytes, random.Random], bytes | None]] = [
        flip,
        truncate,
        drop_line,
        double_line,
        insert_bytes,
        change_digits,
    ]
    structured = change_json(raw, rng) if rng.random() < 0.6 else None
    if structured is not None:
        return "change_json", structured
    kind = rng.choice(kinds)
    return kind.__name__, kind(raw, rng) or raw


def flip(raw: bytes, rng: random.Random) -> bytes:
    """Flip some bits."""
    out = bytearray(raw)
    for _ in range(rng.choice((1, 3, 20))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def truncate(raw: bytes, rng: random.Random) -> bytes:
    """Cut the end off."""
    return raw[: rng.randrange(len(raw) + 1)]


def drop_line(raw: bytes, rng: random.Random) -> bytes:
    """Leave some lines out."""
    lines = raw.splitlines(keepends=True)
    return b"".join(line for line in lines if rng.random() > 0.1)


def double_line(raw: bytes, rng: random.Random) -> bytes:
    """Put a line in twice, elsewhere."""
    lines = raw.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines) if lines else b"")
    return b"".join(lines)


def insert_bytes(raw: bytes, rng: random.Random) -> bytes:
    """Put odd bytes in."""
    odd = rng.choice(
        (b"\x00", b"\xff\xfe", b'"', b"{" * 2000, b"[" * 100_000, b",", b"\r", b"NaN", "π│".encode())
    )
    place = rng.randrange(len(raw) + 1)
    return raw[:place] + odd + raw[place:]


def change_digits(raw: bytes, rng: random.Random) -> bytes:
    """Replace numbers by impossible ones."""
    places = [i for i, byte in enumerate(raw) if 48 <= byte <= 57]
    out = bytearray(raw)
    for place in sorted(rng.sample(places, min(len(places), 5)), reverse=True):
        out[place : place + 1] = rng.choice((b"-1", b"1e999", b"9" * 60, b"nan", b"", b"x", b"1,5"))
    return bytes(out)


def change_json(raw: bytes, rng: random.Random) -> bytes | None:
    """Change types, drop keys and double them in JSON; None where it is none."""
    try:
        lines = (
            [json.loads(line) for line in raw.splitlines() if line.strip()] if raw.count(b"}\n{") else None
        )
        data = [json.loads(raw)] if lines is None else lines
    except ValueError:
        return None
    for _ in range(rng.choice((1, 1, 3, 10))):
        change_one(data, rng)
    texts = [json.dumps(item, ensure_ascii=rng.random() < 0.5) for item in data]
    return "\n".join(texts).encode("utf-8", errors="surrogatepass")


def change_one(data: Any, rng: random.Random) -> None:
    """Change one place of a tree."""
    node: Any = data
    for depth in range(6):
        key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
        child = node[key]
        if not isinstance(child, dict | list) or not child or depth == 5 or rng.random() < 0.25:
            break
        node = child
    action = rng.random()
    if action < 0.25 and isinstance(node, dict):
        del node[key]
    elif action < 0.35 and isinstance(node, dict):
        node[rng.choice(("output_throughput", "metrics", "benchmarks", "hw"))] = node.pop(key)
    else:
        node[key] = copy.deepcopy(rng.choice(ODD))


def faults(found: ImportedFile, path: str) -> list[str]:
    """Return what is wrong with the outcome of one file."""
    wrong = []
    if not found.rows and not found.incomplete and not found.problems:
        wrong.append("neither rows nor a complaint")
    wrong += [f"a complaint without a place: {line[:80]}" for line in found.problems if path not in line]
    wrong += [f"a complaint of several lines: {line[:80]!r}" for line in found.problems if "\n" in line]
    table = CsvTable(path, COLUMNS, ())
    for row in found.serving:
        (point,) = parse_points(table, [CsvRow(1, row.cells)])
        if isinstance(point, UnreadablePoint):
            wrong.append(f"a row that cannot be read back: {point.what}")
    for row in found.startup:
        log = parse_log(CsvRow(1, row.cells))
        if isinstance(log, UnreadableLog):
            wrong.append(f"a start-up that cannot be read back: {log.what}")
    answer = ImportReport(Imported((found,), Path("x"), (), 0, True)).to_dict()
    json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
    return wrong


def samples() -> list[Path]:
    """Return the files that are mutated."""
    files = [*(DATA / "bench_files").rglob("*"), *(DATA / "bench_samples").glob("*")]
    return sorted(path for path in files if path.is_file() and path.name not in ("index.csv", "README.md"))


def clipped(path: Path) -> bytes:
    """Return a file, cut at a line where it is long; a long JSON keeps some of its items."""
    raw = path.read_bytes()
    if len(raw) <= LARGEST:
        return raw
    if raw.lstrip()[:1] == b"[":
        return json.dumps(json.loads(raw)[:12], indent=1).encode()
    return raw if raw.lstrip()[:1] == b"{" and b"}\n{" not in raw else raw[: raw.rindex(b"\n", 0, LARGEST)]


def main() -> int:
    """Run the mutations and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    names = Names(load_catalogue())
    files = [(path, clipped(path)) for path in samples()]
    outcome: Counter[str] = Counter()
    failures: list[str] = []
    began = time.perf_counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "mutated"
        for turn in range(asked.count):
            path, raw = files[turn % len(files)]
            kind, mutated = mutate(raw, rng)
            target.write_bytes(mutated)
            start = time.perf_counter()
            try:
                found = read_file(str(target), STATED, names)
                wrong = faults(found, str(target))
                outcome["gave rows" if found.rows else "refused"] += 1
                outcome["rows"] += found.rows
            except Exception:
                wrong = [traceback.format_exc(limit=-3)]
            slowest = max(slowest, time.perf_counter() - start)
            failures += [f"{turn} {path.name} {kind}: {line}" for line in wrong]
    for line in failures[:20]:
        print(line)
    seconds = time.perf_counter() - began
    print(
        f"{asked.count} mutations of {len(files)} files, seed {asked.seed}: {len(failures)} failures; "
        f"{outcome['gave rows']} gave rows ({outcome['rows']} in all), {outcome['refused']} refused; "
        f"{seconds:.0f} s, slowest {slowest:.2f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
