"""How the GPUs of a measured serving point are divided: equal copies, or a pool for each phase."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.measurement.pool_notes import Workers, workers_of
from planner.measurement.serving_points import ServingPoint

NODE = 8
"""GPUs over which tensor parallelism of attention is used, at most."""
LOADED = 8.0
"""Requests for each decoding GPU above which experts are spread wide and attention has copies."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Equal copies of a model, in the sizes that `planner.scenario.Deployment` takes.

    Parameters
    ----------
    copies : int or None
        How many there are; None when not known.
    tp, pp, ep, dp : int
        Sizes of one copy: tp * pp * dp GPUs, `dp` being copies of attention that share the experts.
    """

    copies: int | None
    tp: int
    pp: int
    ep: int
    dp: int

    @property
    def gpus(self) -> int | None:
        """Return the GPUs of all copies, None when their number is not known."""
        return None if self.copies is None else self.copies * self.tp * self.pp * self.dp


@dataclass(frozen=True, slots=True)
class Layout:
    """How the GPUs of a point are divided.

    Parameters
    ----------
    decode : Copies or None
        What decodes; also prefills where `prefill` is None and the point is not disaggregated. None when the
        point does not say.
    prefill : Copies or None
        The pool that only prefills.
    """

    decode: Copies | None
    prefill: Copies | None = None


def layout_of(point: ServingPoint) -> Layout:
    """Return how the GPUs of a point are divided, as far as it says.

    Parameters
    ----------
    point : ServingPoint
        The point.

    Returns
    -------
    Layout
        With None for what is not stated or does not add up.
    """
    if not point.disagg:
        return Layout(_aggregated(point))
    # TP is that of both pools where notes say nothing of prefill, but wide EP counts its GPUs in EP.
    wide = point.tp == 1 and max(point.ep or 1, point.dp or 1) > 1
    prefill_tp = None if wide or "prefill" in (point.notes or "") else point.tp
    workers = workers_of(point.notes)
    light = (point.concurrency or math.inf) <= LOADED * (point.decode_gpus or 0)
    return Layout(
        decode=_pool(
            point, workers.get("decode"), point.decode_gpus, point.tp, point.ep, point.dp, light=light
        ),
        prefill=_pool(point, workers.get("prefill"), point.prefill_gpus, prefill_tp, None, None),
    )


def _aggregated(point: ServingPoint) -> Copies | None:
    if point.tp is None:
        return None
    tp, pp, dp, ep = point.tp, point.pp or 1, point.dp or 1, point.ep or 1
    total = point.n_gpus or tp * pp * dp
    if dp > 1 and tp * pp == total and tp % dp == 0:
        tp //= dp  # SGLang and TensorRT-LLM count the ranks of attention copies in TP
    copies, rest = divmod(total, tp * pp * dp)
    if rest or not copies:
        return None
    return Copies(copies, tp, pp, min(ep, tp * dp), dp)


def _pool(
    point: ServingPoint,
    workers: Workers | None,
    gpus: int | None,
    tp: int | None,
    ep: int | None,
    dp: int | None,
    *,
    light: bool = False,
) -> Copies | None:
    if workers is None:
        if tp is None or (point.n_gpus == tp and gpus is None):
            return None  # the source writes the total of all GPUs into TP
        # TP1 in wide EP is one worker with attention on each rank, not one for each GPU.
        split = (dp or 1) > 1 or (tp == 1 and (ep or 1) > 1)
        return _worker(None, gpus, max(tp, ep or 1, dp or 1) if split else tp, ep or 1, split=split)
    if workers.split and workers.ranks == workers.ep == 1:
        return _unlabelled(workers.count, gpus, light=light)
    return _worker(workers.count, gpus, workers.ranks, workers.ep, split=workers.split)


def _unlabelled(count: int | None, gpus: int | None, *, light: bool) -> Copies | None:
    """Return workers whose sizes were lost: TP in a node for a light load, else attention on each rank."""
    if not (count and gpus) or gpus % count or gpus == count:
        return None
    ranks = gpus // count
    return Copies(count, ranks, 1, 1, 1) if light and ranks <= NODE else Copies(count, 1, 1, ranks, ranks)


def _worker(count: int | None, gpus: int | None, ranks: int, ep: int, *, split: bool) -> Copies | None:
    """Return a pool of workers; `split` says that each rank holds an attention copy of its own."""
    if count and gpus and gpus % count == 0 and gpus // count % ranks == 0:
        ranks, dp = (gpus // count, 1) if split else (ranks, gpus // count // ranks)
    else:
        dp = 1
        count = count or (gpus // ranks if gpus and gpus % ranks == 0 else None)
    if split:
        return Copies(count, 1, 1, min(ep, ranks), ranks)
    return Copies(count, ranks, 1, min(max(ep, 1), ranks * dp), dp)
