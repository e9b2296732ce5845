"""Energy of tokens: from all-in power, which is published or stated, and never the TDP alone."""

from __future__ import annotations

from dataclasses import dataclass

from planner.catalogue import Catalogue, Gpu
from planner.economics.amounts import not_negative, positive
from planner.economics.owned import all_in_power
from planner.economics.use import GIVEN_BY_YOU
from planner.errors import InvalidInput, Unsupported

W_PER_KW = 1e3


@dataclass(frozen=True, slots=True)
class Power:
    """All-in power of one GPU: chip, its share of server and network; the site's losses (PUE) are on top.

    Parameters
    ----------
    kw_per_gpu : float
        [kW].
    provenance : str
        Where it comes from.
    assumed : bool
        Whether it was worked out from the TDP, as the user asked.
    """

    kw_per_gpu: float
    provenance: str
    assumed: bool = False


def power_of(
    gpu: Gpu, catalogue: Catalogue, *, kw_per_gpu: float | None = None, tdp_overhead: float | None = None
) -> Power:
    """Return the all-in power of one GPU.

    Parameters
    ----------
    gpu : Gpu
        The accelerator.
    catalogue : Catalogue
        Where published figures stand.
    kw_per_gpu : float, optional
        The user's figure [kW]; it goes before all others.
    tdp_overhead : float, optional
        All-in power over TDP, such as 1.5, to be assumed where nobody published the former.

    Returns
    -------
    Power

    Raises
    ------
    Unsupported
        Where nobody published it and nothing is to be assumed.
    """
    if kw_per_gpu is not None:
        return Power(positive("kw_per_gpu", kw_per_gpu, "kW"), GIVEN_BY_YOU)
    published = all_in_power(gpu, catalogue)
    if published is not None:
        return Power(published.value / W_PER_KW, published.provenance())
    if tdp_overhead is None:
        raise Unsupported(
            f"{gpu.id}: no all-in power is known; give it in kW, or a factor over its TDP to assume"
        )
    if positive("tdp_overhead", tdp_overhead, "times the TDP") < 1:
        raise InvalidInput(f"tdp_overhead: {tdp_overhead:g} is below 1, but all of a system takes more")
    kw = gpu.tdp_watts * tdp_overhead / W_PER_KW
    return Power(kw, f"assumed: {tdp_overhead:g} x the TDP of {gpu.tdp_watts:g} W, as you asked", True)


def energy_usd(*, kwh: float, usd_per_kwh: float, pue: float) -> float:
    """Return what energy costs.

    Parameters
    ----------
    kwh : float
        Energy of the computers [kWh].
    usd_per_kwh : float
        Price of electricity [USD/kWh].
    pue : float
        Energy of the site over that of its computers, 1 or more.

    Returns
    -------
    float
        ``kwh * pue * usd_per_kwh`` [USD]. Where power is in a colocation price, it is paid there already.

    Raises
    ------
    InvalidInput
        For a negative amount or a PUE below 1.
    """
    if positive("pue", pue, "times the IT power") < 1:
        raise InvalidInput(f"pue: {pue:g} is below 1, but a site takes at least what its computers take")
    return not_negative("kwh", kwh, "kWh") * pue * not_negative("usd_per_kwh", usd_per_kwh, "USD/kWh")
