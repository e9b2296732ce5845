"""The answer to "when does it flip": the point, how sure it is, and what moves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.economics import DOLLAR, Currency
from planner.measurement.breaking_even import PRICE, Decided
from planner.performance.intervals import Estimate
from planner.planning.sensitivity import Swing
from planner.report.base import Report
from planner.report.breakeven_records import breakeven_record, flip_records
from planner.report.breakeven_tables import breakeven_sources, breakeven_tables
from planner.report.breakeven_text import report_sentence
from planner.report.figures.named import NamedFigure
from planner.report.table import Table, frame_of, records_to_csv

if TYPE_CHECKING:
    import pandas

    from planner.measurement.sides import Side


@dataclass(frozen=True, slots=True)
class DtypeRow:
    """Two options with one format of the weights.

    Parameters
    ----------
    dtype : str
        The format.
    ratio : Estimate
        Cost of the first over that of the second.
    costs : tuple of float
        What a million output tokens cost on each [USD, or GPU-hours without prices].
    winner : str
        The cheaper one.
    """

    dtype: str
    ratio: Estimate
    costs: tuple[float, float]
    winner: str


@dataclass(frozen=True, slots=True, repr=False)
class BreakEvenReport(Report):
    """Where the cheaper of two options changes.

    Parameters
    ----------
    about : str
        Model and load in words.
    model : str
        Id of the model.
    over : str
        What varies.
    sides : tuple of Side
        The options as asked.
    decided : Decided or None
        Where it flips; None over formats of weights.
    swings : tuple of Swing
        Inputs by how far they move the ratio of costs, the furthest first.
    dtypes : tuple of DtypeRow
        Over formats of weights: each of them.
    notes : tuple of str
        What the user should know.
    catalogue_digest : str
        Of the catalogue the answer comes from.
    currency : Currency
        In which money is shown; numbers of JSON and CSV are in USD.
    """

    about: str
    model: str
    over: str
    sides: tuple[Side, Side]
    decided: Decided | None
    swings: tuple[Swing, ...] = ()
    dtypes: tuple[DtypeRow, ...] = ()
    notes: tuple[str, ...] = ()
    catalogue_digest: str = ""
    currency: Currency = DOLLAR

    @property
    def names(self) -> tuple[str, str]:
        """Return the names of both options."""
        return self.sides[0].name, self.sides[1].name

    @property
    def title(self) -> str:
        """Return what the report is about."""
        return f"Break-even: {self.about}"

    @property
    def sentence(self) -> str:
        """Return where the answer flips, and what is cheaper now."""
        return report_sentence(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know, each once."""
        caveats = [
            f"{side.name}: {caveat}"
            for side in self.sides
            if side.price is not None
            for caveat in side.price.caveats[1:]
        ]
        return tuple(dict.fromkeys((*self.notes, *caveats)))

    def __repr__(self) -> str:
        """Return the answer in words."""
        return f"<BreakEvenReport: {self.sentence}>"

    def __str__(self) -> str:
        """Return the answer in words."""
        return self.sentence

    def tables(self) -> tuple[Table, ...]:
        """Return the options, the flips, and what moves them."""
        return breakeven_tables(self)

    def sources(self) -> Table:
        """Return the runs that were measured, and the quotes."""
        return breakeven_sources(self)

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return the bars of a tornado, and where two prices make either option cheaper."""
        from planner.report.figures.breakeven import prices_figure, tornado_figure

        drawn = []
        decided = self.decided
        if self.swings:
            title = f"Cost of {' over '.join(self.names)}, one input at a time"
            drawn.append(NamedFigure("tornado", title, lambda: tornado_figure(self)))
        if decided is not None and decided.over == PRICE and all(side.gpu for side in self.sides):
            drawn.append(
                NamedFigure("prices", "What is cheaper at two prices", lambda: prices_figure(decided))
            )
        return tuple(drawn)

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.breakeven/1`."""
        return self.signed(breakeven_record(self))

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record for each flip, units in the keys; one without a point if there is none."""
        return flip_records(self)

    def to_csv(self) -> str:
        """Return one line for each flip under a header."""
        records = self.to_records()
        return records_to_csv(records, list(records[0]))

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame with one row for each flip."""
        return frame_of(self.to_records())

    def _repr_html_(self) -> str:
        import html

        head = f"<p><strong>{html.escape(self.sentence)}</strong></p>"
        return head + "".join(table.to_html() for table in self.tables())
