"""How GPUs were divided where a serving point does not say: what benchmarks of that size usually do."""

from __future__ import annotations

from dataclasses import dataclass

from planner.measurement.serving_flags import ServingFlag
from planner.measurement.serving_layout import LOADED, NODE, Copies
from planner.measurement.serving_points import ServingPoint
from planner.measurement.serving_setup import PointSetup
from planner.measurement.setups import NotPredictable

LIGHT = 2.0
"""Requests for each decoding GPU below which several small workers serve."""
WEIGHTS_SHARE = 0.65
"""Share of memory that weights take, at most, where TP is chosen for a point that does not say it."""


@dataclass(frozen=True, slots=True)
class Pools:
    """How all GPUs of a point are divided.

    Parameters
    ----------
    decode : Copies
        What decodes; its number of copies is known.
    gpus : int
        All GPUs.
    prefill_gpus : int
        GPUs that only prefill.
    prefill : Copies or None
        What only prefills; None where the decoding GPUs prefill too, or where it is not known to differ.
    """

    decode: Copies
    gpus: int
    prefill_gpus: int = 0
    prefill: Copies | None = None


def pools_of(point: ServingPoint, setup: PointSetup, weight_bytes: float) -> Pools:
    """Return how the GPUs of a point are divided, as it says or as is usual.

    Parameters
    ----------
    point : ServingPoint
        The point.
    setup : PointSetup
        Its records.
    weight_bytes : float
        All weights of the model.

    Returns
    -------
    Pools
    """
    if point.disagg:
        return _apart(point, setup)
    decode = setup.layout.decode
    if decode is None or decode.copies is None:
        decode = _aggregated(point, setup, weight_bytes)
    return Pools(decode, point.n_gpus or decode.gpus or 1)


def _aggregated(point: ServingPoint, setup: PointSetup, weight_bytes: float) -> Copies:
    pp = point.pp or 1
    total = point.n_gpus or (point.tp or 1) * pp
    tp = point.tp or smallest_tp(setup, weight_bytes, total)
    tp = min(tp, total)
    dp = point.dp or 1
    if dp > 1:
        dp = min(dp, tp)
        tp = max(tp // dp, 1)
    return Copies(max(1, total // (tp * pp * dp)), tp, pp, min(point.ep or 1, tp * dp) or 1, dp)


def smallest_tp(setup: PointSetup, weight_bytes: float, gpus: int) -> int:
    """Return the smallest power of two of GPUs whose memory the weights fill to 65 % at most."""
    tp = 1
    most = min(gpus, setup.gpu.domain_gpus if setup.gpu.domain_gpus > 1 else NODE)
    while tp < most and weight_bytes / tp > WEIGHTS_SHARE * setup.gpu.usable_bytes:
        tp *= 2
    return tp


def _apart(point: ServingPoint, setup: PointSetup) -> Pools:
    """Return the pools of a disaggregated point."""
    prefill, decode = setup.layout.prefill, setup.layout.decode
    prefill_gpus = (prefill.gpus if prefill else None) or point.prefill_gpus or None
    decode_gpus = (decode.gpus if decode else None) or point.decode_gpus or None
    total = point.n_gpus
    if prefill_gpus and decode_gpus:
        total = prefill_gpus + decode_gpus
    if total is None:
        raise NotPredictable("number of GPUs not stated")
    if not point.flags & ServingFlag.DECODE_ONLY and total <= max(prefill_gpus or 0, decode_gpus or 0):
        what = f"{total} GPUs, {prefill_gpus or '?'} to prefill and {decode_gpus or '?'} to decode"
        raise NotPredictable("GPUs of the pools do not add up", what)
    if decode_gpus is None:
        decode_gpus = total - prefill_gpus if prefill_gpus and prefill_gpus < total else max(total // 2, 1)
    if prefill_gpus is None:
        prefill_gpus = max(total - decode_gpus, 1)
    if decode is None:
        decode = _worker(point, decode_gpus)
    if decode.tp > NODE:
        decode = _wide(point, decode.tp * decode.dp, decode_gpus)
    ranks = decode.tp * decode.pp * decode.dp
    copies = max(1, decode_gpus // ranks)
    return Pools(
        Copies(copies, decode.tp, decode.pp, min(decode.ep, ranks), decode.dp), total, prefill_gpus, prefill
    )


def _worker(point: ServingPoint, gpus: int) -> Copies:
    """Return one worker of a decoding pool, from the sizes that the point states."""
    tp, ep, dp = point.tp or 1, point.ep or 1, point.dp or 1
    ranks = min(max(tp, ep, dp), gpus)
    if ranks == 1:
        return _wide(point, gpus, gpus)
    if dp > 1:
        return Copies(None, max(1, ranks // dp), 1, min(ep, ranks), min(dp, ranks))
    if tp == 1 and ep > 1:
        return Copies(None, 1, 1, min(ep, ranks), ranks)
    tp = min(tp, ranks)
    return Copies(None, tp, 1, min(ep, ranks), max(1, ranks // tp))


def _wide(point: ServingPoint, ranks: int, gpus: int) -> Copies:
    """Return a worker whose label is lost: wide under load, tensor parallel inside a node otherwise."""
    load = (point.concurrency or 64) / gpus
    if load <= LIGHT or (load <= LOADED and ranks <= NODE):
        tp = min(ranks, NODE)
        return Copies(None, tp, 1, min(point.ep or 1, tp), 1)
    return Copies(None, 1, 1, ranks, ranks)
