"""Write the tables of `measurements.md` anew from the shipped points: `python docs/make_measurements.py`."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from pathlib import Path

from planner import load_catalogue
from planner.measurement.serving import ServingFlag, load_serving_points, source_families
from planner.measurement.serving_setup import unpredictable

PAGE = Path(__file__).with_name("measurements.md")
FLAGS = Path(__file__).parents[1] / "planner" / "measurement" / "serving_flags.py"


def main() -> None:
    """Replace the rows below each table's head."""
    text = PAGE.read_text(encoding="utf-8")
    for head, rows in tables().items():
        pattern = re.compile(rf"(^\| {head} \|.*\n\|[-:| ]+\|\n)(?:.+\n)*", re.MULTILINE)
        lines = "".join(f"{row}\n" for row in rows)
        text, count = pattern.subn(lambda found, lines=lines: found[1] + lines, text)
        if count != 1:
            raise SystemExit(f"{PAGE}: {count} tables begin with {head!r}; one is needed")
    PAGE.write_text(text, encoding="utf-8")


def tables() -> dict[str, list[str]]:
    """Return the rows of each table by the name of its first column."""
    points = load_serving_points()
    counts = Counter(flag for point in points for flag in point.flags)
    reasons = unpredictable(points, load_catalogue()).most_common()
    families = source_families().items()
    return {
        "flag": [
            _row(f"`{flag.name}`", f"{counts[flag]:,}", meaning) for flag, meaning in meanings().items()
        ],
        "points": [_row(f"{count:,}", reason) for reason, count in reasons],
        "file": [
            _row(f"`{name}.csv`", f"{one.rows:,}", one.holds, one.licence, one.attribution)
            for name, one in families
        ],
    }


def meanings() -> dict[ServingFlag, str]:
    """Return what the source code says below each flag."""
    code = FLAGS.read_text(encoding="utf-8")
    found = re.findall(r'^    ([A-Z0-9_]+) = auto\(\)\n    """(.+?)"""', code, re.MULTILINE | re.DOTALL)
    return {ServingFlag[name]: " ".join(textwrap.dedent(text).split()) for name, text in found}


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
