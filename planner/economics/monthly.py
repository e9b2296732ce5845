"""What a month costs: of GPUs that are paid for whether used or not, and of a volume of tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.economics.amounts import positive
from planner.economics.rates import hourly_cost_usd
from planner.economics.tokens import SECONDS_PER_HOUR
from planner.economics.use import HOURS_PER_MONTH, Use


@dataclass(frozen=True, slots=True)
class MonthlyCost:
    """A month of serving a volume.

    Parameters
    ----------
    copies : int
        Deployments that the volume takes.
    gpus : int
        GPUs of all of them.
    usd_per_month : float
        What they cost [USD].
    output_tokens_per_month : float
        The volume [tokens].
    utilisation : float
        Mean load of the working GPUs that results, as a share; at most what was planned.
    usd_per_million_output : float
        The bill over the volume [USD].
    """

    copies: int
    gpus: int
    usd_per_month: float
    output_tokens_per_month: float
    utilisation: float
    usd_per_million_output: float


def usd_per_month(*, gpus: int, usd_per_gpu_hour: float) -> float:
    """Return what GPUs cost in a month of 730 h, used or not [USD]."""
    return HOURS_PER_MONTH * hourly_cost_usd(gpus=gpus, usd_per_gpu_hour=usd_per_gpu_hour)


def output_tokens_per_month(*, output_tps_total: float, use: Use) -> float:
    """Return the output tokens of a month on one deployment, idle and failed time taken off."""
    per_hour = SECONDS_PER_HOUR * positive("output_tps_total", output_tps_total, "tok/s")
    return HOURS_PER_MONTH * per_hour * use.served


def monthly_cost(
    *, output_tokens: float, output_tps_total: float, gpus: int, usd_per_gpu_hour: float, use: Use
) -> MonthlyCost:
    """Return what a volume of output costs in a month on whole deployments.

    Parameters
    ----------
    output_tokens : float
        Output tokens wanted in a month.
    output_tps_total : float
        Rate of one deployment at full load [tok/s].
    gpus : int
        GPUs of one deployment.
    usd_per_gpu_hour : float
        Price of one GPU [USD/h].
    use : Use
        Highest mean utilisation that is planned, and availability.

    Returns
    -------
    MonthlyCost
        With the fewest deployments that carry the volume.

    Raises
    ------
    InvalidInput
        When an argument is not a finite number above 0: a volume of zero needs no machine.
    """
    wanted = positive("output_tokens", output_tokens, "tokens a month")
    carried = output_tokens_per_month(output_tps_total=output_tps_total, use=use)
    # A volume that fills so many deployments exactly does not take one more by rounding.
    copies = max(1, math.ceil(wanted / carried * (1 - 1e-12)))
    total = copies * usd_per_month(gpus=gpus, usd_per_gpu_hour=usd_per_gpu_hour)
    return MonthlyCost(
        copies=copies,
        gpus=copies * gpus,
        usd_per_month=total,
        output_tokens_per_month=wanted,
        utilisation=use.utilisation * wanted / (copies * carried),
        usd_per_million_output=1e6 * total / wanted,
    )
