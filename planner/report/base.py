"""What every report has: an answer in words, tables, figures, and the question that makes it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.errors import Unsupported
from planner.report.reproduction import MARK, Reproduction
from planner.report.table import Table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.report.figures.named import NamedFigure


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Report:
    """Base of the reports: what exports need, each overridden where there is something to say.

    Parameters
    ----------
    reproduction : Reproduction or None
        The question, which the functions of the front door write down; None for a report made by hand.
    """

    reproduction: Reproduction | None = None

    @property
    def title(self) -> str:
        """Return what the report is about, in a few words."""
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """Return the answer in words."""
        raise NotImplementedError

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know, each once."""
        return ()

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of the answer in the order in which they are read."""
        return ()

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return the figures of the answer; they are drawn when asked to."""
        return ()

    def assumptions(self) -> Table | None:
        """Return every value that nobody gave, and why it may be believed."""
        return None

    def sources(self) -> Table | None:
        """Return where the figures and prices come from, each with its date."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object, units in the keys."""
        raise NotImplementedError

    def to_csv(self) -> str:
        """Return the records of the answer under a header, units in the keys."""
        raise NotImplementedError

    def to_markdown(self) -> str:
        """Return the report as Markdown."""
        from planner.report.markdown import markdown_text

        return markdown_text(self)

    def to_html(self) -> str:
        """Return the report as one HTML page that needs no network and holds its own JSON."""
        from planner.report.page import html_page

        return html_page(self)

    def plot(self, name: str | None = None) -> Figure:
        """Return a figure of the report, to be shown or changed.

        Parameters
        ----------
        name : str, optional
            Which; the first by default.

        Returns
        -------
        plotly.graph_objects.Figure

        Raises
        ------
        Unsupported
            Where there is no such figure, or plotly is not installed.
        """
        by_name = {figure.name: figure for figure in self.figures()}
        wanted = next(iter(by_name), None) if name is None else name
        if wanted not in by_name:
            there = f"there is {', '.join(by_name)}" if by_name else "this report has none"
            raise Unsupported(f"no figure {wanted or ''}".rstrip() + f"; {there}")
        return by_name[wanted].draw()

    def signed(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a record that ends with how to make it again, where that is known."""
        return record if self.reproduction is None else {**record, MARK: self.reproduction.to_dict()}
