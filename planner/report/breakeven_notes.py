"""What a break-even must say: on what its figures rest, and what was taken as given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.measurement.breaking_even import CONCURRENCY, LENGTHS, UTILISATION, VOLUME
from planner.planning.load import load_of
from planner.report.prediction_text import load_text

if TYPE_CHECKING:
    from planner.measurement.breaking_even import Decided
    from planner.measurement.sides import Load, Side
    from planner.planning.question import Question


def about(asked: Question, load: Load) -> str:
    """Return what is decided, such as "Kimi K3, 1,024 tokens in and 400 out, each at its best"."""
    said = load_text(load_of(asked.workload))
    if load.concurrency is None:
        said = f"{said.removesuffix(', 1 request at once')}, each at its best"
    return f"{asked.model.name}, {said}"


def breakeven_notes(decided: Decided) -> tuple[str, ...]:
    """Return what the user should know.

    Parameters
    ----------
    decided : Decided
        The break-even.

    Returns
    -------
    tuple of str
    """
    sides = (decided.first, decided.second)
    said = [f"{side.name}: {side.found.chosen}" for side in sides if side.found is not None]
    sources = {side.found.source for side in sides if side.found is not None}
    if len(sources) > 1:
        said.append(
            "a measured figure stands against a simulated one; --throughput simulated: both from the model"
        )
    if decided.over in (*LENGTHS, CONCURRENCY):
        said += [_scaled(side) for side in sides if side.service is not None]
    if decided.over in (UTILISATION, VOLUME):
        said += [_paid(side) for side in sides]
    return tuple(dict.fromkeys(said))


def _scaled(side: Side) -> str:
    if abs(side.scale - 1) < 1e-9:
        return f"{side.name}: other loads after the model, with the deployment as it is"
    return (
        f"{side.name}: other loads after the model, times {side.scale:.2f} so that it meets what was "
        "measured at the load asked for"
    )


def _paid(side: Side) -> str:
    if side.hosted is not None:
        return f"{side.name}: paid by the token ({side.hosted.provenance})"
    if side.paid_when_used:
        return f"{side.name}: paid in the hours of use alone, at full load in those"
    return f"{side.name}: every hour is paid, used or not"
