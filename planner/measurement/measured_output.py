"""What a fit answer shows as measured: at the load asked for, around it, or the peak at lengths all share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.catalogue import Catalogue, Gpu, Model
from planner.measurement.serving import measured_rates, shipped_points
from planner.measurement.serving_flags import ServingFlag
from planner.measurement.serving_points import ServingPoint

PEAK, EXACT, AROUND, NOTHING = "peak", "at the load", "around the load", "none"
"""How measured points answer: the best of all loads, the load itself, its two neighbours, not at all."""

LENGTHS_NAMED = 4

Lengths = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Load:
    """The operating point asked for; None where it is left open.

    Parameters
    ----------
    isl, osl : float, optional
        Input and output of a request [tokens].
    concurrency : float, optional
        Requests at once.
    weight_dtype : str, optional
        Quantisation, where one was asked for.
    """

    isl: float | None = None
    osl: float | None = None
    concurrency: float | None = None
    weight_dtype: str | None = None

    @property
    def is_open(self) -> bool:
        """Return whether nothing was asked for."""
        return (self.isl, self.osl, self.concurrency, self.weight_dtype) == (None, None, None, None)


@dataclass(frozen=True, slots=True)
class MeasuredOutput:
    """Measured output of one model on one accelerator.

    Parameters
    ----------
    match : str
        One of `PEAK`, `EXACT`, `AROUND` and `NOTHING`.
    points : tuple of ServingPoint
        The best run; for `AROUND` the nearest at a lower and at a higher concurrency.
    single_stream : ServingPoint or None
        The best run of one request alone at the same lengths; only with `PEAK`.
    runs : int
        Measured runs among which the best was taken.
    note : str
        Why nothing is shown.
    """

    match: str
    points: tuple[ServingPoint, ...] = ()
    single_stream: ServingPoint | None = None
    runs: int = 0
    note: str = ""


def measured_outputs(
    *, model: Model, gpus: Mapping[str, tuple[Gpu, int]], catalogue: Catalogue, load: Load
) -> dict[str, MeasuredOutput]:
    """Return what to show as measured for each accelerator that was ever measured with the model.

    Parameters
    ----------
    model : Model
        The model.
    gpus : mapping of str to (Gpu, int)
        Accelerators by id, with the GPUs of the deployment that is judged: runs on as many come first.
    catalogue : Catalogue
        Where names are looked up.
    load : Load
        What was asked for. Lengths that are left open become those that all accelerators were measured with.

    Returns
    -------
    dict of str to MeasuredOutput
        By accelerator id.
    """
    known = {gpu: points for gpu, (card, _) in gpus.items() if (points := _rated(model, card, catalogue))}
    pools = {gpu: _matching(model, gpu, points, catalogue, load) for gpu, points in known.items()}
    wanted = [gpu for gpu, pool in pools.items() if pool]
    shared = None
    if len(wanted) > 1 and None in (load.isl, load.osl):
        shared = _shared_lengths([pools[gpu] for gpu in wanted])
        if shared is None:
            note = "the accelerators were measured with different lengths; name some with --isl and --osl: "
            return {
                gpu: MeasuredOutput(NOTHING, note=note + _lengths_of(points)) for gpu, points in known.items()
            }
    found = {}
    for gpu, points in known.items():
        pool = [point for point in pools[gpu] if shared in (None, _lengths(point))]
        found[gpu] = _choose(model, gpu, pool, catalogue, load, gpus[gpu][1])
        if found[gpu].match == NOTHING:
            note = f"nothing at this load; measured with {_lengths_of(points)} tokens in/out"
            found[gpu] = MeasuredOutput(NOTHING, note=note)
    return found


def _rated(model: Model, gpu: Gpu, catalogue: Catalogue) -> list[ServingPoint]:
    """Return the shipped points of a service with fresh prompts that state an output rate."""
    points = shipped_points(
        model_names=[model.id, model.name, *catalogue.aliases("models", model.id)],
        gpu_names=[gpu.id, gpu.name, *catalogue.aliases("gpus", gpu.id)],
    )
    return [
        point
        for point in points
        if point.output_tps_total and point.n_gpus and not point.flags & ServingFlag.NOT_A_SERVICE
    ]


def _matching(
    model: Model, gpu: str, points: list[ServingPoint], catalogue: Catalogue, load: Load
) -> list[ServingPoint]:
    if load.is_open:
        return points
    from planner.measurement.serving_lookup import measured_points

    match = measured_points(
        model=model.id,
        gpu=gpu,
        catalogue=catalogue,
        isl=load.isl,
        osl=load.osl,
        weight_dtype=load.weight_dtype,
        points=points,
    )
    return list(match.at)


def _choose(
    model: Model, gpu: str, pool: list[ServingPoint], catalogue: Catalogue, load: Load, gpus: int
) -> MeasuredOutput:
    if load.concurrency is None:
        rates = measured_rates(pool)
        if rates.peak is None:
            return MeasuredOutput(NOTHING)
        return MeasuredOutput(PEAK, (rates.peak,), rates.single_stream, len(pool))
    from planner.measurement.serving_lookup import measured_points

    match = measured_points(
        model=model.id, gpu=gpu, catalogue=catalogue, concurrency=load.concurrency, points=pool
    )
    at = [point for point in match.at if point.n_gpus == gpus] or list(match.at)
    if at:
        best = measured_rates(at).peak
        return MeasuredOutput(EXACT, () if best is None else (best,), runs=len(at))
    pairs = [pair for pair in match.between if pair[0].n_gpus == gpus] or list(match.between)
    return MeasuredOutput(AROUND, pairs[0], runs=len(pairs)) if pairs else MeasuredOutput(NOTHING)


def _lengths(point: ServingPoint) -> Lengths:
    return point.isl, point.osl


def _shared_lengths(pools: Sequence[Iterable[ServingPoint]]) -> Lengths | None:
    """Return the lengths that all accelerators were measured with, those with the most runs first."""
    counts = [Counter(_lengths(point) for point in pool if None not in _lengths(point)) for pool in pools]
    shared = set.intersection(*(set(each) for each in counts))
    return max(shared, key=lambda lengths: (min(each[lengths] for each in counts), lengths), default=None)


def _lengths_of(points: Iterable[ServingPoint]) -> str:
    """Return the lengths that were measured most, such as "1,024/1,024, 8,192/1,024"."""
    stated = (point for point in points if point.isl is not None and point.osl is not None)
    counts = Counter(f"{point.isl:,.0f}/{point.osl:,.0f}" for point in stated)
    return ", ".join(lengths for lengths, _ in counts.most_common(LENGTHS_NAMED)) or "lengths not stated"
