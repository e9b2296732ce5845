"""When the software of a measured point was built, where its source gives no date of the run.

The dump of InferenceX holds medians over repeated runs of numbered configurations. They were numbered in the
order in which they were added, so a number tells the day after which its runs were made. The days are those
of the first dated run of any configuration with this number or a later one (in the sources that give both),
and from 878 on those on which the models came out whose configurations follow.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import itemgetter

from planner.measurement.serving_flags import ServingFlag
from planner.measurement.serving_points import ServingPoint
from planner.performance.levels import NOW, period_of

CONFIGURATIONS = (
    (178, "2025-12-10"),
    (227, "2025-12-18"),
    (260, "2026-01-16"),
    (550, "2026-02-12"),
    (590, "2026-03-20"),
    (690, "2026-04-01"),
    (878, "2026-04-24"),
    (1100, "2026-05-10"),
    (1300, "2026-06-01"),
    (1393, "2026-06-13"),
)
"""From which number on configurations were added on which day or later."""

FAST_MOVING = ("AMD",)
"""Vendors whose software became faster within weeks. Of NVIDIA's the same ones ran for months, so that the
day they were added says little of a median over all of them: dating those too made groups that were left
out worse (TPOT 14.0 to 14.5 %)."""

_NUMBER = re.compile(r"\bconfig_id=(\d{1,6})\b")


def period_of_run(point: ServingPoint, vendor: str) -> str:
    """Return the period of the software of a point; a user's own is taken to be today's, as questions are.

    Parameters
    ----------
    point : ServingPoint
        The point.
    vendor : str
        Of its GPU.

    Returns
    -------
    str
        As `period_of` gives it.
    """
    if point.own:
        return NOW
    if not point.flags & ServingFlag.RUN_UNDATED:
        return period_of(point.date)
    return period_of(added_on(point.notes or "") if vendor in FAST_MOVING else None)


def added_on(notes: str) -> str | None:
    """Return the day on which the numbered configuration that notes name was added, or None."""
    number = _NUMBER.search(notes)
    row = bisect_right(CONFIGURATIONS, int(number[1]), key=itemgetter(0)) if number else 0
    return CONFIGURATIONS[row - 1][1] if row else None
