"""The answer for a media model: whether and how it fits, the time of a unit, what it costs, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.catalogue.media import MediaHost, MediaModel, MediaRun, MediaStack
from planner.economics import PricePerHour
from planner.measurement.operating_point import REPEATED_SPREAD
from planner.memory.media import OFFLOADED, SWAPPED, MediaMemory
from planner.performance.media import MediaTime, rate_of
from planner.report.figures.named import NamedFigure
from planner.report.media_records import media_record
from planner.report.media_tables import assumed_rows, memory_table, side_by_side, source_rows, time_table
from planner.report.provenance import price_rows, sources_table
from planner.report.sentences import gpu_label
from planner.report.several import NamedAnswers, left_out_html
from planner.report.table import GIB, Table
from planner.report.tables import ASSUMPTION_COLUMNS
from planner.scenario.media import MediaWorkload, plural

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.catalogue import Gpu

SCHEMAS = {name: f"planner.media_{name}/1" for name in ("fit", "predict", "compare")}


@dataclass(frozen=True, slots=True)
class MediaAnswer:
    """A media model on one accelerator.

    Parameters
    ----------
    model : MediaModel
        What makes the unit.
    card : Gpu
        The accelerator.
    stack : MediaStack
        The software on it.
    host : MediaHost
        What its host takes.
    workload : MediaWorkload
        The unit.
    memory : MediaMemory
        Whether and how it fits.
    time : MediaTime or None
        What the model says of its time; None where it does not fit.
    run : MediaRun or None
        A published time of exactly this unit, where the question takes one.
    price : PricePerHour or None
        Of one accelerator.
    no_price : str or None
        Why there is no price of the kind that was asked for.
    """

    model: MediaModel
    card: Gpu
    stack: MediaStack
    host: MediaHost
    workload: MediaWorkload
    memory: MediaMemory
    time: MediaTime | None
    run: MediaRun | None = None
    price: PricePerHour | None = None
    no_price: str | None = None

    @property
    def gpu(self) -> str:
        """Return the id of the accelerator."""
        return self.card.id

    @property
    def fits(self) -> bool:
        """Return whether it runs as it was asked."""
        return self.memory.fits

    @property
    def interval_s(self) -> tuple[float, float, float] | None:
        """Return the time of a unit, and what four of five measurements lie between [s]; None without one.

        A published time has the spread of repeated public runs to either side.
        """
        if self.run is not None:
            spread = 1 + REPEATED_SPREAD
            return self.run.seconds, self.run.seconds / spread, self.run.seconds * spread
        return None if self.time is None else (self.time.seconds, self.time.low_s, self.time.high_s)

    @property
    def seconds(self) -> float | None:
        """Return the time of a unit [s]."""
        return None if self.interval_s is None else self.interval_s[0]

    @property
    def units_per_hour(self) -> float | None:
        """Return the units that one accelerator makes in an hour."""
        return None if self.seconds is None else 3600 / self.seconds

    @property
    def usd_per_unit(self) -> float | None:
        """Return what the time of a unit costs, with the hours in which a bought card idles [USD]."""
        if self.seconds is None or self.price is None:
            return None
        return self.price.usd_per_used_hour * self.seconds / 3600

    @property
    def units_per_usd(self) -> float | None:
        """Return the units for a dollar."""
        return None if self.usd_per_unit is None else 1 / self.usd_per_unit

    @property
    def price_text(self) -> str:
        """Return the price in words."""
        return "no price" if self.price is None else f"{self.price.usd_per_used_hour:,.2f} USD/h"

    @property
    def provenance(self) -> str:
        """Return where the time comes from."""
        if self.run is not None:
            return self.run.provenance()
        rate = rate_of(self.stack, self.card)
        named = "calibrated" if rate.calibrated_on else rate.confidence
        return f"simulated with shares of peak that are {named}: {rate.source.title} ({rate.date})"

    @property
    def sentence(self) -> str:
        """Return the answer in words, with the numbers behind it."""
        name = f"{self.model.name}, {self.workload.text}"
        if not self.fits:
            return f"{name}, does not fit on {gpu_label(self.gpu)}: {self.memory.binding}. {self._instead()}"
        if self.interval_s is None:
            return (
                f"{name}: nobody published its time on {gpu_label(self.gpu)}; --throughput auto predicts it."
            )
        value, low, high = self.interval_s
        took = f"{value:,.2f} s (published)" if self.run else f"{value:,.2f} s ({low:,.1f} to {high:,.1f})"
        cost = "" if self.usd_per_unit is None else f", {self.usd_per_unit:,.4f} USD each"
        made = f"{3600 / value:,.1f} {plural(self.model.makes)} an hour{cost}"
        return f"{name}, takes {took} on {gpu_label(self.gpu)}: {made}; {self._held()}."

    def _held(self) -> str:
        peak = f"{self.memory.peak_bytes / GIB:.1f} of {self.memory.usable_bytes / GIB:.1f} GiB"
        if self.memory.mode == OFFLOADED:
            return f"{self.memory.streamed_bytes / GIB:.1f} GiB of weights come from the host for every pass"
        kept = "one component at a time" if self.memory.mode == SWAPPED else "all weights stay"
        return f"{kept}, {peak} in use at most"

    def _instead(self) -> str:
        if self.memory.mode == OFFLOADED:
            left = self.memory.streamed_bytes / GIB
            halved = self.memory.largest.role == "denoiser" and self.memory.largest.format in ("bf16", "fp16")
            other = ", or --weight-dtype fp8" if halved else ""
            return f"It runs with --offload ({left:.1f} GiB of weights stay with the host){other}."
        return "A smaller unit, or an accelerator with more memory, is needed."

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what the user should know."""
        said = [*([self.no_price] if self.no_price else []), *self.model.notes]
        if self.memory.tiled:
            whole = self.memory.untiled_bytes / GIB
            said.append(f"the decoder would hold {whole:.1f} GiB whole, so it works in tiles")
        if self.run is not None and self.time is not None:
            span = f"{self.time.low_s:,.1f} to {self.time.high_s:,.1f}"
            off = self.time.seconds / self.run.seconds - 1
            said.append(
                f"the model says {self.time.seconds:,.2f} s ({span}), {off:+.1%} of "
                f"the published {self.run.seconds:,.2f} s"
            )
            said += [f"not stated by the source: {text}" for text in self.run.assumed]
        rate = rate_of(self.stack, self.card)
        if rate.note:
            said.append(f"rates: {rate.note}")
        return tuple(said)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as one JSON-ready object without its schema."""
        return media_record(self)

    def __str__(self) -> str:
        """Return the answer in words."""
        return self.sentence

    def _repr_html_(self) -> str:
        import html

        return f"<p><strong>{html.escape(self.sentence)}</strong></p>{memory_table((self,)).to_html()}"


@dataclass(frozen=True, slots=True, repr=False)
class MediaReport(NamedAnswers[MediaAnswer]):
    """A media model on one or several accelerators.

    Parameters
    ----------
    asked : str
        ``fit``, ``predict`` or ``compare``: what comes first.
    notes : tuple of str
        What else the user should know.
    """

    asked: str = "predict"
    notes: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Return whether it runs on at least one of the accelerators."""
        return any(answer.fits for answer in self.answers)

    @property
    def answered(self) -> bool:
        """Return whether at least one has a time."""
        return any(answer.seconds is not None for answer in self.answers)

    @property
    def misses(self) -> bool:
        """Return False: a comparison of media has no limits to miss."""
        return False

    @property
    def title(self) -> str:
        """Return what the report is about."""
        gpus = ", ".join(gpu_label(answer.gpu) for answer in self.answers)
        return f"{self.answer.model.name}, {self.answer.workload.text}, on {gpus}"

    @property
    def ranked(self) -> tuple[MediaAnswer, ...]:
        """Return the answers in order: by units for a dollar where all have prices, else by time."""
        timed = [answer for answer in self.answers if answer.seconds is not None]
        others = tuple(answer for answer in self.answers if answer.seconds is None)
        priced = bool(timed) and all(answer.price for answer in timed)
        key = (lambda answer: answer.usd_per_unit) if priced else (lambda answer: answer.seconds)
        return (*sorted(timed, key=key), *others)

    @property
    def sentence(self) -> str:
        """Return the answers in words; of a comparison first who wins, and how sure that is."""
        said = super(MediaReport, self).sentence
        return f"{self._order()} {said}" if self.asked == "compare" and self._order() else said

    def _order(self) -> str:
        timed = [answer for answer in self.ranked if answer.seconds is not None]
        if len(timed) < 2:
            return ""
        first, second = timed[:2]
        assert first.interval_s is not None
        assert second.interval_s is not None
        by_money = first.units_per_usd is not None and second.units_per_usd is not None
        if by_money:
            assert first.usd_per_unit is not None
            assert second.usd_per_unit is not None
            ratio, what = second.usd_per_unit / first.usd_per_unit, "the units for a dollar of"
        else:
            ratio, what = second.interval_s[0] / first.interval_s[0], "as fast as"
        spread = first.interval_s[2] / first.interval_s[0] * second.interval_s[0] / second.interval_s[1]
        sure = "" if ratio > spread or spread == 1 else ", which is within the uncertainty"
        return f"{gpu_label(first.gpu)} is first: {ratio:.2f} times {what} {gpu_label(second.gpu)}{sure}."

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know."""
        return (*self.notes, *super(MediaReport, self).warnings)

    def tables(self) -> tuple[Table, ...]:
        """Return the figures side by side, the memory, and the time part by part."""
        timed = [answer for answer in self.answers if answer.time is not None]
        memory, times = memory_table(self.answers), [time_table(answer) for answer in timed]
        return (side_by_side(self.ranked).without_empty(), memory, *times) if self.answered else (memory,)

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return the time of a unit by part, where there is one."""
        if not any(answer.time for answer in self.answers):
            return ()
        return (NamedFigure("parts", "Time of a unit by part, s", self._parts),)

    def _parts(self) -> Figure:
        from planner.report.figures.media import parts_figure

        return parts_figure(self.answers)

    def assumptions(self) -> Table:
        """Return every value that nobody gave, and why it may be believed."""
        rows = {tuple(row.items()): row for answer in self.answers for row in assumed_rows(answer)}
        return Table(ASSUMPTION_COLUMNS, tuple(rows.values()), "Assumed, since it was not given")

    def sources(self) -> Table:
        """Return where rates, runs and prices come from, each with its date."""
        rows = [row for answer in self.answers for row in source_rows(answer)]
        rows += [row for one in self.answers for row in price_rows(gpu_label(one.gpu), one.price)]
        return sources_table(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object: a single answer itself, several under `results`."""
        schema = {"schema": SCHEMAS[self.asked]}
        if len(self.answers) == 1 and not self.left_out:
            return self.signed({**schema, **self.answer.to_dict()})
        first = self.ranked[0].seconds
        speedup = {
            answer.gpu: None if answer.seconds is None or first is None else answer.seconds / first
            for answer in self.ranked
        }
        return self.signed(
            {
                **schema,
                "model": self.answer.model.id,
                "fits": self.fits,
                "order": [answer.gpu for answer in self.ranked],
                "first_is_faster_by": speedup,
                "results": [answer.to_dict() for answer in self.answers],
                "left_out": dict(self.left_out),
            }
        )

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record for each accelerator, units in the keys."""
        return side_by_side(self.answers).to_records()

    def _repr_html_(self) -> str:
        shown = "".join(answer._repr_html_() for answer in self.answers)
        table = side_by_side(self.ranked).without_empty().to_html() if len(self.answers) > 1 else ""
        return table + shown + left_out_html(self.left_out)
