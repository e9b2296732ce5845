"""Rates of money: what a deployment costs an hour, and how much output an hourly dollar buys."""

from __future__ import annotations

from planner.economics.amounts import positive


def hourly_cost_usd(*, gpus: int, usd_per_gpu_hour: float) -> float:
    """Return what a deployment costs an hour.

    Parameters
    ----------
    gpus : int
        GPUs of the whole deployment, prefill and decode ranks alike.
    usd_per_gpu_hour : float
        Price of one GPU [USD/h].

    Returns
    -------
    float
        ``gpus * usd_per_gpu_hour`` [USD/h].

    Raises
    ------
    InvalidInput
        When either is not a finite number above 0.
    """
    return positive("gpus", gpus, "GPUs") * positive("usd_per_gpu_hour", usd_per_gpu_hour, "USD/h")


def output_rate_per_usd_per_hour(*, output_tokens_per_s: float, gpus: int, usd_per_gpu_hour: float) -> float:
    """Return the output rate that each dollar per hour buys.

    Parameters
    ----------
    output_tokens_per_s : float
        Generated tokens of the whole deployment [tok/s]; input tokens are not counted.
    gpus : int
        GPUs of the whole deployment: a rate is always divided by all of them.
    usd_per_gpu_hour : float
        Price of one GPU [USD/h].

    Returns
    -------
    float
        ``output_tokens_per_s / (gpus * usd_per_gpu_hour)`` [tok/s per USD/h].

    Raises
    ------
    InvalidInput
        When an argument is not a finite number above 0.

    Notes
    -----
    1 tok/s per USD/h is 3,600 output tokens per dollar, so the figure is also tokens per dollar over 3,600.
    """
    rate = positive("output_tokens_per_s", output_tokens_per_s, "tok/s")
    return rate / hourly_cost_usd(gpus=gpus, usd_per_gpu_hour=usd_per_gpu_hour)
