"""The answer to "which deployment": the frontier of each accelerator, the best under limits, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.economics import PricePerHour
from planner.planning.load import Load
from planner.planning.search import FailedLimit, Point, SearchResult
from planner.report.figures.named import NamedFigure
from planner.report.frontier_records import SCHEMA, answer_record, flat_records
from planner.report.frontier_tables import answer_tables, best_table, frontier_sources
from planner.report.frontier_text import MEDIANS, NO_LIMITS, answer_sentence, paragraphs, slo_text
from planner.report.sentences import gpu_label
from planner.report.several import Answers
from planner.report.table import Table, frame_of, records_to_csv

if TYPE_CHECKING:
    import pandas
    from plotly.graph_objects import Figure

    from planner.measurement.frontier_points import MeasuredMarker
    from planner.performance.predict import Prediction
    from planner.scenario.slo import LatencySlo


@dataclass(frozen=True, slots=True, repr=False)
class FrontierAnswer:
    """What a search found on one accelerator type.

    Parameters
    ----------
    result : SearchResult
        Every candidate.
    load : Load
        Lengths of the requests.
    by : str
        What is best: ``throughput``, ``cost`` or ``interactivity``.
    slo : LatencySlo or None
        Limits that medians must keep.
    points : tuple of Point
        The frontier, of points that keep the SLO.
    layouts : tuple of (Point, Prediction)
        The best point of each of the best layouts with its working, the winner first.
    closest : tuple of Point and tuple of FailedLimit, or None
        Where nothing keeps the SLO, what comes closest and the limits that it fails.
    measured : tuple of MeasuredMarker
        Measured runs with requests of these lengths.
    """

    result: SearchResult
    load: Load
    by: str
    slo: LatencySlo | None
    points: tuple[Point, ...]
    layouts: tuple[tuple[Point, Prediction], ...]
    closest: tuple[Point, tuple[FailedLimit, ...]] | None
    measured: tuple[MeasuredMarker, ...]

    @property
    def gpu(self) -> str:
        """Return the id of the accelerator."""
        return self.result.gpu.id

    @property
    def vendor(self) -> str:
        """Return its vendor."""
        return self.result.gpu.vendor

    @property
    def fits(self) -> bool:
        """Return whether any deployment that was tried can run."""
        return self.result.candidates > 0

    @property
    def answered(self) -> bool:
        """Return whether anything keeps the SLO."""
        return bool(self.points)

    @property
    def best(self) -> Point | None:
        """Return the best point; None where nothing keeps the SLO."""
        return self.layouts[0][0] if self.layouts else None

    @property
    def bound_by(self) -> str | None:
        """Return what the best point is bound by."""
        return self.layouts[0][1].bound_by if self.layouts else None

    @property
    def price(self) -> PricePerHour | None:
        """Return the price of one GPU."""
        return self.result.asked.prices.get(self.gpu)

    @property
    def sentence(self) -> str:
        """Return the answer in words."""
        return answer_sentence(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know, each once."""
        said = list(self.layouts[0][1].warnings) if self.layouts else []
        if reason := self.result.asked.unpriced.get(self.gpu):
            said.append(reason)
        return tuple(dict.fromkeys(said))

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as one JSON-ready object of schema `planner.frontier/1`."""
        return answer_record(self)

    def __repr__(self) -> str:
        """Return the answer in words; `to_dict` has the rest."""
        return f"<FrontierAnswer: {self.sentence}>"

    def __str__(self) -> str:
        """Return the answer in words."""
        return self.sentence


@dataclass(frozen=True, slots=True, repr=False)
class FrontierReport(Answers[FrontierAnswer]):
    """Frontiers of one model on one or several accelerator types.

    Parameters
    ----------
    answers : tuple of FrontierAnswer
        In the order in which the accelerators were named.
    """

    @property
    def answered(self) -> bool:
        """Return whether anything keeps the SLO on at least one of the accelerators."""
        return any(answer.answered for answer in self.answers)

    @property
    def fits(self) -> bool:
        """Return whether the model fits on at least one of the accelerators."""
        return any(answer.fits for answer in self.answers)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know, and on what the limits are judged."""
        said: tuple[str, ...] = Answers.warnings.__get__(self)
        if self.answered and (self.answer.slo is not None or self.answer.by != "interactivity"):
            said += (NO_LIMITS if self.answer.slo is None else MEDIANS,)
        return said

    @property
    def winner(self) -> FrontierAnswer | None:
        """Return the accelerator whose best point is best of all; None where none has one."""
        found = [(answer, answer.best) for answer in self.answers if answer.best is not None]
        return max(found, key=lambda pair: pair[1].merit(self.answer.by), default=(None, None))[0]

    @property
    def title(self) -> str:
        """Return what the report is about."""
        gpus = ", ".join(gpu_label(answer.gpu) for answer in self.answers)
        return f"Frontier of {self.named} on {gpus}: {self.about}"

    @property
    def named(self) -> str:
        """Return the name of the model."""
        return self.answer.result.asked.model.name

    @property
    def about(self) -> str:
        """Return the lengths and limits in words."""
        load = self.answer.load
        said = f"{load.isl:,} tokens in and {load.osl:,} out"
        return f"{said}, {slo_text(self.answer.slo)}" if self.answer.slo else said

    @property
    def sentence(self) -> str:
        """Return the answer in words."""
        return " ".join(paragraphs(self))

    def tables(self) -> tuple[Table, ...]:
        """Return the best of each accelerator, and then its frontier, its layouts and what was left out."""
        first = [best_table(self.answers)] if len(self) > 1 and self.answered else []
        return (*first, *(table for answer in self.answers for table in answer_tables(answer)))

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return the frontier, and what tokens cost along it where there are prices."""
        if not self.answered:
            return ()
        shown = [
            NamedFigure(
                "frontier",
                "Output of a GPU against interactivity, tok/s, with 80 % intervals",
                self._frontier,
            )
        ]
        if any(answer.price for answer in self.answers):
            title = "USD per million output tokens against interactivity, with 80 % intervals"
            shown.append(NamedFigure("cost", title, self._cost))
        return tuple(shown)

    def _frontier(self) -> Figure:
        from planner.report.figures.frontier import frontier_figure

        return frontier_figure(self.answers)

    def _cost(self) -> Figure:
        from planner.report.figures.frontier import cost_figure

        return cost_figure(self.answers)

    def sources(self) -> Table | None:
        """Return where prices and measured runs come from."""
        return frontier_sources(self.answers)

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object: of one accelerator its answer, else `results`."""
        records = [answer.to_dict() for answer in self.answers]
        if len(records) == 1:
            return self.signed({**records[0], "warnings": list(self.warnings)})
        winner = self.winner
        whole = {
            "schema": SCHEMA,
            "model": self.answer.result.asked.model.id,
            "fits": self.fits,
            "answered": self.answered,
            "winner": None if winner is None else winner.gpu,
            "warnings": list(self.warnings),
            "results": records,
        }
        return self.signed(whole)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a flat record for each point of each frontier."""
        return flat_records(self.answers)

    def to_csv(self) -> str:
        """Return the points of the frontiers as CSV."""
        from planner.report.frontier_records import KEYS

        return records_to_csv(self.to_records(), KEYS)

    def to_frame(self) -> pandas.DataFrame:
        """Return the points of the frontiers as a pandas frame."""
        return frame_of(self.to_records())

    def _repr_html_(self) -> str:
        import html

        head = f"<p><strong>{html.escape(self.sentence)}</strong></p>"
        return head + "".join(table.to_html() for table in self.tables())
