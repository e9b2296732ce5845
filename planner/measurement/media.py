"""Published times of media models: looked up, predicted, and predicted without having been looked at.

A stack's share of peak in attention may be calibrated on runs. Left out one by one, a run is predicted with
the share that the others give, so that its error is that of a prediction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.catalogue import Catalogue
from planner.catalogue.media import (
    MediaModel,
    MediaRate,
    MediaRun,
    media_host,
    media_model,
    media_runs,
    media_stack,
)
from planner.memory.media import media_memory
from planner.performance.media import MediaTime, media_time, rate_of
from planner.scenario.media import MediaWorkload, media_workload

SAME = ("width", "height", "frames", "latents", "octree", "steps", "guidance")
"""What must agree where a published time answers a question."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A published run, and what is predicted of it without it.

    Parameters
    ----------
    run : MediaRun
        What was published.
    calibrated_on : tuple of str
        Runs from which the share of attention comes; empty where no published run was used.
    attention : float
        That share of dense BF16 peak.
    time : MediaTime
        The prediction.
    """

    run: MediaRun
    calibrated_on: tuple[str, ...]
    attention: float
    time: MediaTime

    @property
    def error(self) -> float:
        """Return predicted over published, less 1."""
        return self.time.seconds / self.run.seconds - 1


def run_workload(model: MediaModel, run: MediaRun) -> MediaWorkload:
    """Return what a published run made."""
    size = None if run.width is None else (run.width, run.height)
    named = ("frames", "latents", "octree", "steps", "guidance")
    return media_workload(model, {"size": size, **{name: getattr(run, name) for name in named}})


def published_run(
    catalogue: Catalogue, model: MediaModel, workload: MediaWorkload, gpu: str
) -> MediaRun | None:
    """Return the published run of exactly this unit on this accelerator, or None.

    Parameters
    ----------
    catalogue : Catalogue
        With the runs.
    model : MediaModel
        What makes it.
    workload : MediaWorkload
        What is asked; with weights in another format than the usual one nothing was published.
    gpu : str
        Id of the accelerator.

    Returns
    -------
    MediaRun or None
    """
    if workload.weight_dtype not in (None, model.denoiser.format):
        return None
    for run in media_runs(catalogue):
        if (run.model, run.gpu) == (model.id, gpu):
            made = run_workload(model, run)
            if all(getattr(made, name) == getattr(workload, name) for name in SAME):
                return run
    return None


def predicted_run(catalogue: Catalogue, run: MediaRun, attention: float | None = None) -> MediaTime:
    """Return the time that is predicted of a published run, with its host's speed.

    Parameters
    ----------
    catalogue : Catalogue
        Where all of it is looked up.
    run : MediaRun
        The run.
    attention : float, optional
        Another share of peak in attention than the stack's.

    Returns
    -------
    MediaTime
    """
    model, gpu = media_model(catalogue, run.model), catalogue.gpu(run.gpu)
    stack, workload = media_stack(catalogue, gpu.vendor), run_workload(model, run)
    rate = rate_of(stack, gpu)
    if attention is not None:
        rate = rate.model_copy(update={"attention": attention})
    memory = media_memory(model, workload, gpu, stack)
    return media_time(
        model, workload, gpu, stack, memory, media_host(catalogue), host_speed=run.host_speed, rate=rate
    )


def attention_share(catalogue: Catalogue, run: MediaRun) -> float:
    """Return the share of peak in attention at which the prediction of a run is what was published.

    Parameters
    ----------
    catalogue : Catalogue
        Where all of it is looked up.
    run : MediaRun
        The run.

    Returns
    -------
    float
        With T = A + B / s, where B / s is the time of attention: s = B / (T - A).
    """
    time = predicted_run(catalogue, run)
    attention_s = sum(part.attention_s for part in time.parts)
    rest = time.seconds - attention_s
    return attention_s * time.rate.attention / (run.seconds - rest)


def together(shares: Iterable[float]) -> float:
    """Return the geometric mean of shares."""
    found = list(shares)
    return math.exp(sum(math.log(share) for share in found) / len(found))


def leave_one_out(catalogue: Catalogue) -> tuple[LeftOut, ...]:
    """Return every published run with what is predicted of it by a calibration without it.

    Parameters
    ----------
    catalogue : Catalogue
        With the runs, and with the runs that shares were calibrated on.

    Returns
    -------
    tuple of LeftOut
        In the order of the files.
    """
    runs = media_runs(catalogue)
    return tuple(_without(catalogue, run, runs) for run in runs)


def _without(catalogue: Catalogue, run: MediaRun, runs: Sequence[MediaRun]) -> LeftOut:
    rate = _rate(catalogue, run)
    others = [other for other in runs if other.id in rate.calibrated_on and other.id != run.id]
    if not others:
        return LeftOut(run, (), rate.attention, predicted_run(catalogue, run))
    share = together(attention_share(catalogue, other) for other in others)
    time = predicted_run(catalogue, run, share)
    return LeftOut(run, tuple(other.id for other in others), share, time)


def _rate(catalogue: Catalogue, run: MediaRun) -> MediaRate:
    gpu = catalogue.gpu(run.gpu)
    return rate_of(media_stack(catalogue, gpu.vendor), gpu)
