"""The answer to "does it fit": one accelerator type or several, as records, tables, JSON, CSV and HTML."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.economics import PricePerHour
from planner.memory.records import MemoryFit
from planner.report.facts import fit_sources, fit_tables, fit_text
from planner.report.figures.named import NamedFigure
from planner.report.records import SCHEMA, fit_record, flat_record
from planner.report.sentences import gpu_label, verdict_sentence
from planner.report.several import NamedAnswers, left_out_html, left_out_notes
from planner.report.table import Table
from planner.report.tables import assumptions_table, memory_table, side_by_side

if TYPE_CHECKING:
    import pandas
    from plotly.graph_objects import Figure

    from planner.measurement.accuracy import MemoryAccuracy
    from planner.measurement.measured_output import MeasuredOutput


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """Whether a model fits on one accelerator type, and on how many.

    Parameters
    ----------
    model, model_name, config_status : str
        Id, name, and whether the model's configuration was published, recalled or inferred.
    gpu, gpu_name, vendor : str
        Id, name and vendor of the accelerator.
    node_gpus : int
        GPUs of one node.
    sized : bool
        Whether parallel sizes or a number of GPUs were given.
    memory : MemoryFit
        What the answer is about: the deployment that was given, else the smallest one that fits, else one
        whole node.
    one_node : MemoryFit or None
        What one whole node does, where no sizes were given.
    smallest : MemoryFit or None
        The smallest deployment that fits, by whole nodes above one node; None where none fits.
    catalogue_digest : str
        Of the catalogue the answer comes from.
    usable_known : str
        Confidence of the memory that a process can get, such as "measured".
    weight_format, variant : str
        Format of the weights in force, in words; name of the quantisation where it is not the published one.
    price : PricePerHour or None
        Price of one GPU.
    no_price : str or None
        Why there is no price of the kind that was asked for.
    measured : MeasuredOutput or None
        Measured output of this model on this accelerator; None where nobody measured it.
    accuracy : MemoryAccuracy or None
        How far predictions were from start-up logs of this engine and kind of attention.
    others : tuple of MemoryFit
        Other layouts of the same GPUs that hold clearly more requests, where one accelerator was asked about.
    notes : tuple of str
        What the user should know beside the warnings of the memory answer.
    """

    model: str
    model_name: str
    config_status: str
    gpu: str
    gpu_name: str
    node_gpus: int
    sized: bool
    memory: MemoryFit
    one_node: MemoryFit | None
    smallest: MemoryFit | None
    catalogue_digest: str
    usable_known: str = ""
    weight_format: str = ""
    variant: str = ""
    price: PricePerHour | None = None
    no_price: str | None = None
    measured: MeasuredOutput | None = None
    accuracy: MemoryAccuracy | None = None
    others: tuple[MemoryFit, ...] = ()
    notes: tuple[str, ...] = ()
    vendor: str = ""

    @property
    def named(self) -> str:
        """Return the model's name, with the quantisation where it is not the published one."""
        return f"{self.model_name} ({self.variant})" if self.variant else self.model_name

    @property
    def fits(self) -> bool:
        """Return whether the deployment of the answer fits."""
        return self.memory.fits

    @property
    def gpus(self) -> int:
        """Return the GPUs of the deployment of the answer."""
        return self.memory.deployment.gpus

    @property
    def nodes(self) -> int:
        """Return the nodes of the deployment of the answer."""
        return self.nodes_of(self.memory)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know."""
        return (*self.notes, *self.memory.warnings)

    @property
    def sentence(self) -> str:
        """Return the verdict in one sentence or two, with the numbers behind it."""
        return verdict_sentence(self)

    def nodes_of(self, memory: MemoryFit) -> int:
        """Return the nodes that a deployment takes."""
        return math.ceil(memory.deployment.gpus / self.node_gpus)

    def __repr__(self) -> str:
        """Return the verdict in words; `to_text` and `to_dict` have the rest."""
        return f"<FitAnswer: {self.sentence}>"

    def __str__(self) -> str:
        """Return the verdict in words."""
        return self.sentence

    def to_text(self) -> str:
        """Return what the command line prints, as plain text."""
        return fit_text((self,))

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as one JSON-ready object of schema `planner.fit/1`."""
        return fit_record(self)

    def to_frame(self) -> pandas.DataFrame:
        """Return the answer as a pandas frame of one row."""
        return FitReport((self,)).to_frame()

    def _repr_html_(self) -> str:
        import html

        head = f"<p><strong>{html.escape(self.sentence)}</strong></p>"
        return head + memory_table(self).to_html()


@dataclass(frozen=True, slots=True, repr=False)
class FitReport(NamedAnswers[FitAnswer]):
    """The answers for one model on one or several accelerator types.

    Parameters
    ----------
    answers : tuple of FitAnswer
        In the order in which the accelerators were named.
    left_out : mapping of str to str
        Accelerators that cannot run what was asked, and why.
    """

    @property
    def fits(self) -> bool:
        """Return whether the model fits on at least one of the accelerators."""
        return any(answer.fits for answer in self.answers)

    @property
    def title(self) -> str:
        """Return what the report is about."""
        gpus = ", ".join(gpu_label(answer.gpu) for answer in self.answers)
        return f"Does {self.answer.named} fit on {gpus}"

    def tables(self) -> tuple[Table, ...]:
        """Return what each accelerator needs, the memory of a GPU, single facts, and what was measured."""
        return fit_tables(self.answers)

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return the memory of a GPU of each accelerator."""
        return (NamedFigure("memory", "Memory of the fullest GPU by part, GiB", self._memory_figure),)

    def _memory_figure(self) -> Figure:
        from planner.report.figures.memory import memory_figure

        return memory_figure(self.answers)

    def assumptions(self) -> Table:
        """Return every value that nobody gave, and why it may be believed."""
        return assumptions_table(self.answers)

    def sources(self) -> Table:
        """Return where prices and measured figures come from, each with its date."""
        return fit_sources(self.answers)

    def to_text(self) -> str:
        """Return what the command line prints, as plain text."""
        return fit_text(self.answers, left_out_notes(self.left_out))

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object: a single answer itself, several under `results`."""
        return self.one_or_several(SCHEMA, self.answer.model, self.fits)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record for each accelerator, units in the keys."""
        return [flat_record(answer) for answer in self.answers]

    def _repr_html_(self) -> str:
        shown = "".join(answer._repr_html_() for answer in self.answers)
        table = side_by_side(self.answers).to_html() if len(self.answers) > 1 else ""
        return table + shown + left_out_html(self.left_out)
