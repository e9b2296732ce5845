"""`calibrate`: from measured serving points to the calibration file, and a user's own points on top of it."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from planner.catalogue import Catalogue
from planner.errors import InvalidInput
from planner.measurement.calibration import OWN, OWN_PRIORS, fit_levels
from planner.measurement.case_builder import CaseBuilder
from planner.measurement.cases import Case, CaseSet
from planner.measurement.cross_validation import SEED, LeftOut, leave_out, seen_by, widths_from
from planner.measurement.serving import load_serving_points, serving_files
from planner.measurement.serving_flags import ServingFlag
from planner.measurement.serving_points import ServingPoint
from planner.measurement.setups import NotPredictable
from planner.measurement.static_runs import static_runs
from planner.performance.levels import Calibration

KEPT_ASIDE = ("wafer_kimi_k3", "own_h200", "own_h200_http", "own_h200_x2", "consumer_single_card")
"""Sources that no calibration learns from: the worked example of Kimi K3 must come out right by itself; our
own runs of one H200, with `measurements/h200`, say how wrong predictions are of what was never seen, and
single consumer cards do in `docs/consumer.md`."""

LEFT_OUT = ("group", "model", "gpu", "series")
SHUFFLES = {"group": 3}
"""How often what is left out is divided into folds anew: with whom a group is left out moves its error."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A calibration and the errors that it is judged by.

    Parameters
    ----------
    calibration : Calibration
        Parameters, widths and what was seen.
    data : CaseSet
        The points that it is from.
    left_out : dict of str to tuple of LeftOut
        Predictions of points that were left out, by what was left out, one for each shuffle of the folds.
    skipped : int
        Points that could not be used.
    digest : str
        Of the points.
    """

    calibration: Calibration
    data: CaseSet
    left_out: dict[str, tuple[LeftOut, ...]]
    skipped: int
    digest: str


def cases_of(points: Iterable[ServingPoint], catalogue: Catalogue) -> tuple[CaseSet, int]:
    """Return the points that the time model can be asked about, and how many it cannot.

    Parameters
    ----------
    points : iterable of ServingPoint
        The points; those that repeat another are left out.
    catalogue : Catalogue
        Models, GPUs and stacks.

    Returns
    -------
    tuple of CaseSet and int

    Raises
    ------
    InvalidInput
        When none of the points can be used.
    """
    builder = CaseBuilder(catalogue)
    cases: list[Case] = []
    skipped = 0
    for point in points:
        if point.flags & ServingFlag.REPEATED:
            continue
        try:
            cases.append(builder.case(point))
        except NotPredictable:
            skipped += 1
    if not cases:
        raise InvalidInput(f"none of {skipped} points can be used: no set-up of them can be predicted")
    data = builder.gather(cases)
    believed = data.teaches & ~data.faster_than_light()[:, None]
    return replace(data, teaches=believed), skipped


def shipped() -> list[ServingPoint]:
    """Return the shipped points that a calibration may learn from."""
    points = load_serving_points(file for file in serving_files() if file.stem not in KEPT_ASIDE)
    return [*points, *static_runs()]


def calibrate(
    *,
    catalogue: Catalogue,
    points: Sequence[ServingPoint] | None = None,
    left_out: Sequence[str] = LEFT_OUT,
    told: Callable[[str], None] = lambda text: None,
) -> Calibrated:
    """Fit the parameters to measured points and find how sure predictions are.

    Parameters
    ----------
    catalogue : Catalogue
        Models, GPUs and stacks.
    points : sequence of ServingPoint, optional
        The points; the shipped ones by default.
    left_out : sequence of str
        What to leave out for intervals, of `cross_validation.KEYS`.
    told : callable
        Is told of progress.

    Returns
    -------
    Calibrated
    """
    data, skipped = cases_of(shipped() if points is None else points, catalogue)
    told(f"{len(data)} points, {skipped} cannot be used")
    usable = data.part(np.asarray(data.teaches.any(axis=1)))
    levels = fit_levels(usable)
    told("fitted")
    parts = {
        kind: tuple(
            leave_out(data, kind, seed=SEED + shuffle, told=told) for shuffle in range(SHUFFLES.get(kind, 1))
        )
        for kind in left_out
    }
    digest = digest_of(data.cases)
    today = datetime.date.today().isoformat()
    source = f"calibrated: {len(usable)} serving points, digest {digest} ({today})"
    return Calibrated(
        Calibration(
            levels,
            widths_from(data, [one for part in parts.values() for one in part]),
            seen_by(usable.cases),
            source,
        ),
        data,
        parts,
        skipped,
        digest,
    )


def adapt(calibration: Calibration, points: Sequence[ServingPoint], catalogue: Catalogue) -> Calibration:
    """Return a calibration moved to a user's own measurements: the level of each set-up, not its shape.

    Parameters
    ----------
    calibration : Calibration
        What is known already.
    points : sequence of ServingPoint
        The user's points, a few of each set-up.
    catalogue : Catalogue
        Models, GPUs and stacks.

    Returns
    -------
    Calibration

    Raises
    ------
    InvalidInput
        When none of the points can be used.
    """
    data, skipped = cases_of(points, catalogue)
    usable = data.part(np.asarray(data.teaches.any(axis=1)))
    if not len(usable):
        raise InvalidInput(f"none of {len(points)} points can be used ({skipped} cannot be predicted)")
    moved = fit_levels(usable, base=calibration, priors=OWN_PRIORS, fewest=1)
    levels = {p: {f: dict(v) for f, v in factors.items()} for p, factors in calibration.levels.items()}
    for parameter, factors in moved.items():
        own = levels.setdefault(parameter, {}).setdefault(OWN, {})
        for level, shift in factors[OWN].items():
            own[level] = own.get(level, 0.0) + shift
    seen = {
        name: calibration.seen.get(name, frozenset()) | names for name, names in seen_by(usable.cases).items()
    }
    what = "point" if len(usable) == 1 else "points"
    source = f"{calibration.source}; and {len(usable):,} {what} of your own"
    return replace(calibration, levels=levels, seen=seen, source=source)


def digest_of(cases: Iterable[Case]) -> str:
    """Return the first 12 hex digits of the SHA-256 over what was measured and for what."""
    together = hashlib.sha256()
    for case in cases:
        about = (case.about.group, case.isl, case.osl, case.concurrency, *np.round(case.measured, 9).tolist())
        together.update(repr(about).encode())
    return together.hexdigest()[:12]


def calibration_yaml(calibrated: Calibrated) -> str:
    """Return the text of the calibration file.

    Parameters
    ----------
    calibrated : Calibrated
        What `calibrate` found.

    Returns
    -------
    str
        A catalogue file with `calibration:`, `intervals:` and `seen:`.
    """
    calibration = calibrated.calibration
    title = _DATED.sub("", calibration.source.removeprefix("calibrated: "))
    lines = [
        "# What `planner calibrate` found: shifts of the time model's parameters, widths of intervals, and",
        "# what was measured. Written by it; see docs/performance.md.",
        "",
        "sources:",
        "  calibration:",
        f"    title: {json.dumps(title)}",
        f'    date: "{datetime.date.today().isoformat()}"',
        "",
        "calibration:",
    ]
    for parameter, factors in calibration.levels.items():
        lines += [f"  {parameter}:", *_ORIGIN, "    levels:"]
        for factor, shifts in factors.items():
            lines.append(f"      {json.dumps(factor)}:")
            lines += [f"        {json.dumps(level)}: {shift:g}" for level, shift in sorted(shifts.items())]
    lines += ["", "intervals:"]
    for quantity, cells in calibration.widths.items():
        lines += [f"  {quantity}:", *_ORIGIN, "    cells:"]
        lines += [f"      {json.dumps(cell)}: [{low:g}, {high:g}]" for cell, (low, high) in cells.items()]
    lines += ["", "seen:"]
    for kind, names in calibration.seen.items():
        lines += [f"  {kind}:", *_ORIGIN, "    names:"]
        lines += [f"      - {json.dumps(name)}" for name in sorted(names)]
    return "\n".join(lines) + "\n"


_ORIGIN = ("    source: calibration", "    confidence: measured")
_DATED = re.compile(r" \(\d{4}-\d\d-\d\d\)")
"""The date behind a source, which stands in a field of its own."""


def write_calibration(calibrated: Calibrated, path: Path) -> None:
    """Write the calibration file; it is whole or not there."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(calibration_yaml(calibrated), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None
