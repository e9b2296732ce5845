"""A figure of a report that is drawn only when somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.distribution import installing
from planner.errors import Unsupported

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

REPORT_EXTRA = installing("report")


@dataclass(frozen=True, slots=True)
class NamedFigure:
    """A figure with a name, a title, and how it is drawn.

    Parameters
    ----------
    name : str
        Short, such as "frontier"; unique in a report.
    title : str
        What it shows, with its unit.
    drawn_by : callable
        Makes the plotly figure; it may import plotly, and nothing else does.
    """

    name: str
    title: str
    drawn_by: Callable[[], Figure]

    def draw(self) -> Figure:
        """Return the figure.

        Raises
        ------
        Unsupported
            Where plotly is not installed; it names the extra that brings it.
        """
        try:
            return self.drawn_by()
        except ImportError as error:
            if (error.name or "").partition(".")[0] != "plotly":
                raise
            raise Unsupported(f"figures need plotly, which is not installed: {REPORT_EXTRA}") from None
