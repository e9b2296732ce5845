"""The answer to "how fast, at what cost": one accelerator type or several, as records, tables and HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.economics import PricePerHour
from planner.economics.tokens import tokens_per_usd, usd_per_million_tokens
from planner.errors import InvalidInput
from planner.performance.intervals import Estimate
from planner.report.figures.named import NamedFigure
from planner.report.fit import FitAnswer
from planner.report.prediction_export import prediction_sources, prediction_tables
from planner.report.prediction_records import SCHEMA, flat_record, prediction_record
from planner.report.prediction_tables import figures_table, side_by_side
from planner.report.prediction_text import load_text, sentence
from planner.report.sentences import gpu_label
from planner.report.several import NamedAnswers, left_out_html
from planner.report.table import Table
from planner.report.tables import assumptions_table

if TYPE_CHECKING:
    import pandas
    from plotly.graph_objects import Figure

    from planner.measurement.predicted import Predicted
    from planner.planning.load import Load


@dataclass(frozen=True, slots=True, repr=False)
class PredictAnswer:
    """What one accelerator type yields under a load, and what that costs.

    Parameters
    ----------
    fit : FitAnswer
        The memory of one copy, with names and the price.
    predicted : Predicted
        What was measured and what the model says.
    load : Load
        The load that was asked for.
    """

    fit: FitAnswer
    predicted: Predicted
    load: Load

    @property
    def gpu(self) -> str:
        """Return the id of the accelerator."""
        return self.fit.gpu

    @property
    def gpus(self) -> int:
        """Return the GPUs of all copies and pools."""
        pools = self.predicted.pools
        return pools.prefill_gpus + pools.decode_gpus if pools else self.fit.gpus

    @property
    def nodes(self) -> int:
        """Return the nodes that they take at least."""
        return -(-self.gpus // self.fit.node_gpus)

    @property
    def price(self) -> PricePerHour | None:
        """Return the price of one GPU."""
        return self.fit.price

    @property
    def answered(self) -> bool:
        """Return whether there are figures."""
        return bool(self.predicted.figures)

    @property
    def figures(self) -> dict[str, Estimate]:
        """Return the figures by name, each with its interval and where it comes from."""
        return self.predicted.figures

    @property
    def usd_per_million_output_tokens(self) -> Estimate | None:
        """Return what a million output tokens cost; None without a price or a rate."""
        return self._money(usd_per_million_tokens, falls=True)

    @property
    def tokens_per_dollar(self) -> Estimate | None:
        """Return the output tokens that a dollar buys; None without a price or a rate."""
        return self._money(tokens_per_usd, falls=False)

    def _money(self, function: Any, *, falls: bool) -> Estimate | None:
        rate = self.figures.get("output_tps_total")
        if self.price is None or rate is None:
            return None
        usd = self.price.usd_per_used_hour
        value, low, high = (
            function(output_tokens_per_s=each, gpus=self.gpus, usd_per_gpu_hour=usd)
            for each in (rate.value, rate.low, rate.high)
        )
        low, high = (high, low) if falls else (low, high)
        return Estimate(value, low, high, rate.provenance)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know, each once."""
        prediction = self.predicted.prediction
        said = (*self.predicted.notes, *self.fit.warnings, *(prediction.warnings if prediction else ()))
        return tuple(dict.fromkeys(said))

    @property
    def sentence(self) -> str:
        """Return the answer in one sentence, with its figures."""
        return sentence(self)

    def __repr__(self) -> str:
        """Return the answer in words; `to_dict` has the rest."""
        return f"<PredictAnswer: {self.sentence}>"

    def __str__(self) -> str:
        """Return the answer in words."""
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as one JSON-ready object of schema `planner.predict/1`."""
        return prediction_record(self)

    def to_frame(self) -> pandas.DataFrame:
        """Return the answer as a pandas frame of one row."""
        return PredictReport((self,)).to_frame()

    def _repr_html_(self) -> str:
        import html

        head = f"<p><strong>{html.escape(self.sentence)}</strong></p>"
        return head + (figures_table(self).to_html() if self.answered else "")


@dataclass(frozen=True, slots=True, repr=False)
class PredictReport(NamedAnswers[PredictAnswer]):
    """The answers for one model on one or several accelerator types.

    Parameters
    ----------
    answers : tuple of PredictAnswer
        In the order in which the accelerators were named.
    left_out : mapping of str to str
        Accelerators that cannot run what was asked, and why.
    """

    def __post_init__(self) -> None:
        """Refuse an answer from measurements alone where there is none."""
        unmeasured = [answer.predicted.unmeasured for answer in self.answers]
        if all(unmeasured):
            raise InvalidInput(unmeasured[0])

    @property
    def answered(self) -> bool:
        """Return whether at least one of the accelerators has figures."""
        return any(answer.answered for answer in self.answers)

    @property
    def fits(self) -> bool:
        """Return whether the model fits on at least one of the accelerators."""
        return any(answer.fit.fits for answer in self.answers)

    @property
    def title(self) -> str:
        """Return what the report is about."""
        gpus = ", ".join(gpu_label(answer.gpu) for answer in self.answers)
        return f"{self.answer.fit.named} on {gpus}: {load_text(self.answer.load)}"

    def tables(self) -> tuple[Table, ...]:
        """Return the figures of each accelerator, the working behind them, and what was measured."""
        return prediction_tables(self.answers)

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return the output of each accelerator, and where the time of a step goes."""
        if not self.answered:
            return ()
        shown = [NamedFigure("throughput", "Output of a GPU with 80 % intervals, tok/s", self._throughput)]
        if any(answer.predicted.prediction for answer in self.answers):
            shown.append(NamedFigure("step", "Where the time of a decode step goes, ms", self._step))
        return tuple(shown)

    def _throughput(self) -> Figure:
        from planner.report.figures.prediction import throughput_figure

        return throughput_figure(self.answers)

    def _step(self) -> Figure:
        from planner.report.figures.prediction import step_figure

        return step_figure(self.answers)

    def assumptions(self) -> Table:
        """Return every value that nobody gave, and why it may be believed."""
        return assumptions_table([answer.fit for answer in self.answers])

    def sources(self) -> Table:
        """Return where prices and measured figures come from, each with its date."""
        return prediction_sources(self.answers)

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object: a single answer itself, several under `results`."""
        return self.one_or_several(SCHEMA, self.answer.fit.model, self.fits)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record for each accelerator, units in the keys."""
        return [flat_record(answer) for answer in self.answers]

    def _repr_html_(self) -> str:
        shown = "".join(answer._repr_html_() for answer in self.answers)
        table = side_by_side(self.answers).to_html() if len(self.answers) > 1 else ""
        return table + shown + left_out_html(self.left_out)
