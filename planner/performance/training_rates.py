"""What products reach in training by accelerator, dtype, stack and date: datasheet against achieved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planner.catalogue import Achieved, Catalogue, Gpu
from planner.catalogue.training import TrainingModel, TrainingRate
from planner.errors import InvalidInput, Unsupported, shorten
from planner.units import Dimension, whole_number

Stack = Literal["stable", "development"]
STACKS: tuple[Stack, ...] = ("stable", "development")

MAXIMUM = "MAMF"
"""Statistic of the largest product that a search over shapes found, which most accelerators have."""

NO_RATE = ("threshold", "best shape", "m=256", "attention", "TAF", "4096 cubed", "2048 cubed", "one stack")
"""Words of statistics that are no rate of large products: pass marks, single lucky or small shapes."""

ASSUMED, BENCHMARK = "assumed", "benchmark"


@dataclass(frozen=True, slots=True)
class AchievedRate:
    """A rate to plan with, beside the datasheet.

    Parameters
    ----------
    gpu, dtype : str
        The accelerator and the format.
    peak_flop_per_s, flop_per_s : float
        Dense peak of the datasheet, and what products reach [FLOP/s].
    channel, stack, date, stat : str
        Of the release, build or benchmark.
    provenance : str
        Confidence, source and date.
    source, url : str
        Where it was read.
    assumed : bool
        Whether nobody measured it, so that a share of the peak is taken.
    """

    gpu: str
    dtype: str
    peak_flop_per_s: float
    flop_per_s: float
    channel: str
    stack: str
    date: str
    stat: str
    provenance: str
    source: str
    url: str | None = None
    assumed: bool = False

    @property
    def share(self) -> float:
        """Return the share of the datasheet that is reached."""
        return self.flop_per_s / self.peak_flop_per_s


def training_model(catalogue: Catalogue) -> TrainingModel:
    """Return the figures of the time model; `Unsupported` where a catalogue of the user's own has none."""
    if "step" not in catalogue.ids("training_model"):
        raise Unsupported(
            "the catalogue has no training_model: step, which training is worked out from; add it"
        )
    found = catalogue.load_entry("training_model", "step")
    assert isinstance(found, TrainingModel)
    return found


def training_records(catalogue: Catalogue, gpu: Gpu) -> list[TrainingRate]:
    """Return the rates of an accelerator by stack, in the order of the files."""
    found = [catalogue.load_entry("training_rates", key) for key in catalogue.ids("training_rates")]
    return [one for one in found if isinstance(one, TrainingRate) and one.gpu == gpu.id]


def achieved_rate(
    catalogue: Catalogue, gpu: Gpu, dtype: str, *, stack: Stack = "stable", as_of: str | None = None
) -> AchievedRate:
    """Return the rate to plan a training run with.

    Parameters
    ----------
    catalogue : Catalogue
        Where rates stand.
    gpu : Gpu
        The accelerator.
    dtype : str
        ``bf16`` or ``fp8``.
    stack : str
        ``stable``: the newest release; ``development``: the newest of releases and makers' builds.
    as_of : str, optional
        Date [YYYY-MM-DD, YYYY-MM or YYYY] after which nothing is known; today by default.

    Returns
    -------
    AchievedRate
        By stack and date where it was measured so; else from products measured on the accelerator until then;
        else a share of its peak, which says that it is assumed.

    Raises
    ------
    Unsupported
        When the accelerator does not compute in this format.
    InvalidInput
        For a date that is none.
    """
    peak = gpu.peak_flop_per_s(dtype)
    until = _last_day(as_of)
    known = [
        one
        for one in training_records(catalogue, gpu)
        if one.dtype == dtype and one.channel in ("stable", stack) and _first_day(one.date) <= until
    ]
    if known:
        best = max(known, key=lambda one: (_first_day(one.date), one.channel == stack))
        return _by_stack(best, peak)
    if measured := [one for one in _measured(gpu, dtype) if _first_day(one.date) <= until]:
        return _by_benchmark(gpu, dtype, measured, peak)
    share = training_model(catalogue).peak_share[dtype]
    said = f"assumed: {100 * share:g} % of the datasheet, as nobody measured it"
    return AchievedRate(
        gpu.id, dtype, peak, share * peak, "", "", "", "share of the peak", said, ASSUMED, assumed=True
    )


def achieved_rows(catalogue: Catalogue, gpu: Gpu) -> list[AchievedRate]:
    """Return all that is known of products of an accelerator, oldest first within each format.

    Parameters
    ----------
    catalogue : Catalogue
        Where rates stand.
    gpu : Gpu
        The accelerator.

    Returns
    -------
    list of AchievedRate
        Rates by stack, then benchmarks of products; formats without a peak are left out.
    """
    rows: list[AchievedRate] = []
    for dtype in ("bf16", "fp8"):
        if dtype not in gpu.rated_dtypes():
            continue
        peak = gpu.peak_flop_per_s(dtype)
        records = [one for one in training_records(catalogue, gpu) if one.dtype == dtype]
        rows += [_by_stack(one, peak) for one in sorted(records, key=lambda one: _first_day(one.date))]
        rows += [_one_benchmark(gpu, dtype, one, peak) for one in _results(gpu, dtype)]
    return rows


def _by_stack(one: TrainingRate, peak: float) -> AchievedRate:
    return AchievedRate(
        one.gpu,
        one.dtype,
        peak,
        one.value,
        one.channel,
        one.stack,
        one.date,
        one.stat,
        one.provenance(),
        one.source.title,
        one.source.url,
    )


def _results(gpu: Gpu, dtype: str) -> list[Achieved]:
    """Return benchmarks of products in one format that are not the same figure as a rate by stack."""
    return [
        one
        for one in gpu.achieved.get("gemm", ())
        if one.dtype == dtype and one.value is not None and one.unit is Dimension.FLOP_PER_S
        if "semianalysis" not in one.source.title
    ]


def _measured(gpu: Gpu, dtype: str) -> list[Achieved]:
    """Return benchmarks that tell a rate of large products: the best of a search over shapes, else others."""
    large = [one for one in _results(gpu, dtype) if not any(word in one.stat for word in NO_RATE)]
    return [one for one in large if MAXIMUM in one.stat] or large


def _by_benchmark(gpu: Gpu, dtype: str, measured: list[Achieved], peak: float) -> AchievedRate:
    """Return the benchmark in the middle of several."""
    ordered = sorted(measured, key=lambda one: one.value or 0.0)
    return _one_benchmark(gpu, dtype, ordered[(len(ordered) - 1) // 2], peak)


def _one_benchmark(gpu: Gpu, dtype: str, one: Achieved, peak: float) -> AchievedRate:
    assert one.value is not None
    said = f"{one.confidence}: {one.source.title} ({one.date})"
    value = one.value / gpu.devices
    return AchievedRate(
        gpu.id,
        dtype,
        peak,
        value,
        BENCHMARK,
        "",
        one.date,
        one.stat,
        said,
        one.source.title,
        one.source.url,
    )


def _first_day(date: str) -> str:
    """Return the first day that a date may mean, so that dates can be compared."""
    year, _, rest = date.partition("-")
    if rest.startswith("Q"):
        rest = f"{3 * int(rest[1]) - 2:02}"
    month, _, day = rest.partition("-")
    return f"{year}-{month or '01'}-{day or '01'}"


def _last_day(date: str | None) -> str:
    """Return the last day that a date may mean; the end of time where there is none."""
    if date is None:
        return "9999-12-31"
    parts = date.split("-") if isinstance(date, str) else []
    numbers = [whole_number(part) or 0 for part in parts]
    months_days = zip(numbers[1:], (12, 31), strict=False)
    possible = all(1 <= one <= most for one, most in months_days)
    if not 1 <= len(parts) <= 3 or len(parts[0]) != 4 or not numbers[0] or not possible:
        raise InvalidInput(f"as_of: {shorten(date)} is no date; write it like 2024-12-31, 2024-12 or 2024")
    year, month, day = (*parts, "12", "31")[:3] if len(parts) == 1 else (*parts, "31")[:3]
    return f"{year}-{month:0>2}-{day:0>2}"
