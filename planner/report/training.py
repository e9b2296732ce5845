"""The answer to "how fast does it train, and at what cost": one accelerator type or several side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.memory.training import LOGIT_BYTES, RESERVE_BYTES, RESERVE_SHARE
from planner.performance.training_rates import AchievedRate
from planner.planning.training import HOURS_PER_DAY, Trained
from planner.report.figures.named import NamedFigure
from planner.report.prediction_text import interval, number
from planner.report.provenance import price_rows, sources_table
from planner.report.sentences import gpu_label
from planner.report.several import NamedAnswers, left_out_html
from planner.report.table import GIB, Table
from planner.report.tables import ASSUMPTION_COLUMNS
from planner.report.training_records import SCHEMA, flat_record, train_record
from planner.report.training_tables import TERA, percent, side_by_side, train_tables
from planner.units import format_count

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NEAR = 0.05
"""A margin within this share of memory may go either way: frameworks differ by more."""
METHOD_NAMES = {"full": "trains", "lora": "is fine-tuned by LoRA", "qlora": "is fine-tuned by QLoRA"}


@dataclass(frozen=True, slots=True)
class TrainAnswer:
    """What one accelerator type makes of a training run.

    Parameters
    ----------
    model, model_name, config_status : str
        Id, name, and whether the model's configuration was published, recalled or inferred.
    trained : Trained
        The run with memory, time, money and energy.
    known : tuple of AchievedRate
        All rates of products by stack and date of this accelerator in the run's formats.
    catalogue_digest : str
        Of the catalogue the answer comes from.
    """

    model: str
    model_name: str
    config_status: str
    trained: Trained
    known: tuple[AchievedRate, ...]
    catalogue_digest: str

    @property
    def gpu(self) -> str:
        """Return the id of the accelerator."""
        return self.trained.gpu.id

    @property
    def vendor(self) -> str:
        """Return its vendor."""
        return self.trained.gpu.vendor

    @property
    def fits(self) -> bool:
        """Return whether the run fits."""
        return self.trained.plan.step is not None

    @property
    def nodes(self) -> int:
        """Return the nodes that it takes."""
        return -(-self.trained.plan.run.gpus // self.trained.gpu.node_gpus)

    @property
    def place(self) -> str:
        """Return where it runs, such as "64 x H100-SXM over 8 nodes (TP4 PP2 DP8 ZeRO-1)"."""
        run = self.trained.plan.run
        over = f" over {self.nodes:,} nodes" if self.nodes > 1 else ""
        return f"{run.gpus:,} x {gpu_label(self.gpu)}{over} ({run.layout})"

    @property
    def sentence(self) -> str:
        """Return the answer in one sentence, with its figures."""
        trained, run = self.trained, self.trained.plan.run
        head = f"{self.model_name} {METHOD_NAMES[run.method]}"
        rate, flops, mfu = trained.tokens_per_s_per_gpu, trained.flop_per_s_per_gpu, trained.mfu
        if rate is None or flops is None or mfu is None:
            memory = trained.plan.memory
            return (
                f"{self.model_name} does not fit for training on {self.place} in {run.dtype.upper()}: "
                f"{memory.total_bytes / GIB:,.1f} GiB of each GPU are needed, "
                f"{memory.usable_bytes / GIB:,.1f} GiB can be used."
                + (f" It fits {' or '.join(trained.remedies)}." if trained.remedies else "")
            )
        said = [
            f"{head} on {self.place} in {run.dtype.upper()} at {number(rate.value)} tok/s a GPU "
            f"(80 % interval {interval(rate)})",
            f"{number(flops.value / TERA)} TFLOP/s a GPU, {percent(mfu.value)} of the {run.dtype.upper()} "
            "datasheet",
        ]
        hours, cost = trained.run_hours, trained.usd_per_trillion_tokens
        if hours is not None and trained.tokens is not None:
            days, total = hours.scaled(1 / HOURS_PER_DAY), trained.usd_of_run
            paid = f" for USD {number(total.value)}" if total is not None else ""
            span = f"{number(days.value)} days ({interval(days)})"
            said.append(f"{format_count(trained.tokens)} tokens in {span}{paid}")
        elif cost is not None:
            said.append(f"USD {number(cost.value)} per trillion tokens")
        return f"{'; '.join(said)}."

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know."""
        trained, run = self.trained, self.trained.plan.run
        said = list(trained.notes)
        said += [
            f"the {dtype.upper()} rate of {self.gpu} is {rate.provenance}; the interval is wider for it"
            for dtype, rate in trained.rates.items()
            if rate.assumed
        ]
        memory = trained.plan.memory
        if abs(memory.margin_bytes) < NEAR * memory.usable_bytes:
            said.append(
                f"memory is within {NEAR:.0%} of what can be used, and frameworks differ by more".replace(
                    "%", " %"
                )
            )
        if memory.paged_bytes:
            said.append(
                f"{memory.paged_bytes / GIB:,.1f} GiB of optimiser states are on the host: QLoRA pages them"
            )
        if run.tp > trained.gpu.node_gpus:
            said.append(f"TP {run.tp} crosses nodes of {trained.gpu.node_gpus} GPUs, which is slow")
        if trained.no_price:
            said.append(trained.no_price)
        if trained.power is None:
            said.append(f"no energy: {trained.no_power}")
        return tuple(said)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as one JSON-ready object of schema `planner.train/1`."""
        return train_record(self)

    def __repr__(self) -> str:
        """Return the answer in words."""
        return f"<TrainAnswer: {self.sentence}>"

    def __str__(self) -> str:
        """Return the answer in words."""
        return self.sentence


@dataclass(frozen=True, slots=True, repr=False)
class TrainReport(NamedAnswers[TrainAnswer]):
    """The answers for one model on one or several accelerator types.

    Parameters
    ----------
    answers : tuple of TrainAnswer
        In the order in which the accelerators were named.
    left_out : mapping of str to str
        Accelerators that cannot run what was asked, and why.
    """

    @property
    def fits(self) -> bool:
        """Return whether the run fits on at least one of the accelerators."""
        return any(answer.fits for answer in self.answers)

    @property
    def title(self) -> str:
        """Return what the report is about."""
        gpus = ", ".join(gpu_label(answer.gpu) for answer in self.answers)
        return f"Training {self.answer.model_name} on {gpus}"

    def tables(self) -> tuple[Table, ...]:
        """Return all side by side, each step and memory by part, money, and datasheet against achieved."""
        return train_tables(self.answers)

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return the parts of a step, and the memory of a GPU."""
        return (
            NamedFigure("step", "Where the time of a step goes, share", self._step_figure),
            NamedFigure("memory", "Memory of the fullest GPU by part, GiB", self._memory_figure),
        )

    def _step_figure(self) -> Figure:
        from planner.report.figures.training import step_figure

        return step_figure(self.answers)

    def _memory_figure(self) -> Figure:
        from planner.report.figures.training import memory_figure

        return memory_figure(self.answers)

    def assumptions(self) -> Table:
        """Return every value that nobody gave, and why it may be believed."""
        run, use = self.answer.trained.plan.run, self.answer.trained.use
        rows = [
            ("batch", f"{run.global_batch:,} sequences of {run.seq_len:,} tokens a step", "given, or usual"),
            ("states", f"{14 + run.gradient_bytes} bytes a parameter", "mixed-precision Adam (ZeRO, 2020)"),
            ("attention", run.attention, "frameworks since 2022"),
            ("logits", f"{LOGIT_BYTES:g} bytes each", "assumed: logits and gradient in FP32"),
            (
                "memory not used",
                f"{RESERVE_BYTES / 1e9:g} GB and {percent(RESERVE_SHARE)}",
                "assumed: context, buffers of collectives, allocator",
            ),
            ("time that trains", percent(use.served), use.provenance),
        ]
        for answer in self.answers:
            rows += [
                (
                    f"{dtype.upper()} products, {gpu_label(answer.gpu)}",
                    f"{number(rate.flop_per_s / TERA)} TFLOP/s",
                    rate.provenance,
                )
                for dtype, rate in answer.trained.rates.items()
            ]
        keys = [column.key for column in ASSUMPTION_COLUMNS]
        listed = tuple(dict(zip(keys, row, strict=True)) for row in rows)
        return Table(ASSUMPTION_COLUMNS, listed, "Assumed, since it was not given")

    def sources(self) -> Table:
        """Return where rates and prices come from, each with its date."""
        rows: list[dict[str, Any]] = []
        for answer in self.answers:
            label = gpu_label(answer.gpu)
            rows += [
                {
                    "what": f"{dtype.upper()} products of {label}",
                    "source": rate.source,
                    "date": rate.date,
                    "url": rate.url,
                }
                for dtype, rate in answer.trained.rates.items()
            ]
            rows += price_rows(label, answer.trained.price)
        return sources_table(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object: a single answer itself, several under `results`."""
        return self.one_or_several(SCHEMA, self.answer.model, self.fits)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record for each accelerator, units in the keys."""
        return [flat_record(answer) for answer in self.answers]

    def _repr_html_(self) -> str:
        tables = [side_by_side(self.answers), *self.tables()[1:]]
        return "".join(table.to_html() for table in tables) + left_out_html(self.left_out)
