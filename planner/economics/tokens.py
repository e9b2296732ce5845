"""What output tokens cost, from the rate and the price of all GPUs."""

from __future__ import annotations

from planner.economics.rates import output_rate_per_usd_per_hour

SECONDS_PER_HOUR = 3600.0
MILLION = 1e6


def tokens_per_usd(*, output_tokens_per_s: float, gpus: int, usd_per_gpu_hour: float) -> float:
    """Return the output tokens that a dollar buys while the deployment runs at this rate.

    Parameters
    ----------
    output_tokens_per_s : float
        Generated tokens of the whole deployment [tok/s].
    gpus : int
        GPUs of the whole deployment.
    usd_per_gpu_hour : float
        Price of one GPU [USD/h].

    Returns
    -------
    float
        ``3600 * rate / (gpus * price)`` [tokens/USD].

    Raises
    ------
    InvalidInput
        When an argument is not a finite number above 0.
    """
    return SECONDS_PER_HOUR * output_rate_per_usd_per_hour(
        output_tokens_per_s=output_tokens_per_s, gpus=gpus, usd_per_gpu_hour=usd_per_gpu_hour
    )


def usd_per_million_tokens(*, output_tokens_per_s: float, gpus: int, usd_per_gpu_hour: float) -> float:
    """Return what a million output tokens cost; the input is not counted apart, its work is in the rate.

    Parameters
    ----------
    output_tokens_per_s, gpus, usd_per_gpu_hour
        As for `tokens_per_usd`.

    Returns
    -------
    float
        [USD per million output tokens].
    """
    return MILLION / tokens_per_usd(
        output_tokens_per_s=output_tokens_per_s, gpus=gpus, usd_per_gpu_hour=usd_per_gpu_hour
    )
