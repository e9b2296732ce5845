"""What tokens cost: all charged to the output, all shared by every token, or apportioned by GPU time."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from planner.economics.amounts import part, positive, share
from planner.economics.tokens import MILLION, SECONDS_PER_HOUR
from planner.economics.use import Use

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from planner.performance.intervals import Estimate

    Array = NDArray[np.float64]

N = TypeVar("N")
"""float, a numpy array, or an Estimate: as the output rate was given."""

CACHED_WEIGHT = 0.1
"""Cost of a cached input token over that of an uncached one where its KV traffic is not worked out.

*Assumed*: hosted APIs that price cached input ask 0.03 to 0.19 of their price of input, most 0.1
(`hosted:` of data/economics.yaml). The function `cached_weight` works it out from the traffic.
"""


@dataclass(frozen=True, slots=True)
class TokenCosts(Generic[N]):
    """Costs of tokens and the energy they take; the fields that need it are None without a prefill share.

    Parameters
    ----------
    usd_per_million_output, usd_per_million_input, usd_per_million_cached : number, optional
        Apportioned: output pays for decoding, uncached input for prefill, cached input for its traffic [USD].
        Times the tokens of each kind they add up to all that is paid.
    usd_per_million_total : number
        Everything over all tokens, input (cached too) and output alike [USD].
    usd_per_million_output_all : number
        Everything charged to the output [USD].
    tokens_per_usd : number
        Output tokens that a dollar buys.
    output_tps_per_usd_per_hour : number
        Output rate that a dollar an hour buys [tok/s per USD/h].
    usd_per_hour : number
        What the deployment costs an hour, used or not.
    joules_per_output_token : number, optional
        While serving: all-in power of all GPUs over the output rate [J].
    kwh_per_million_output : number, optional
        Idle and failed time included, at full power [kWh].
    cached_weight : float
        Cost of a cached input token over that of an uncached one.
    use : Use
        What was counted as idle and failed.
    """

    usd_per_million_output: N | None
    usd_per_million_input: N | None
    usd_per_million_cached: N | None
    usd_per_million_total: N
    usd_per_million_output_all: N
    tokens_per_usd: N
    output_tps_per_usd_per_hour: N
    usd_per_hour: Any
    joules_per_output_token: N | None
    kwh_per_million_output: N | None
    cached_weight: float
    use: Use


@overload
def token_costs(
    *,
    output_tps_total: float,
    isl: float | Array,
    osl: float | Array,
    gpus: float | Array,
    usd_per_gpu_hour: float | Array,
    use: Use,
    prefix_hit: float | Array = 0.0,
    prefill_share: float | Array | None = None,
    kw_per_gpu: float | Array | None = None,
    cached_weight: float = CACHED_WEIGHT,
) -> TokenCosts[float]: ...


@overload
def token_costs(
    *,
    output_tps_total: Array,
    isl: float | Array,
    osl: float | Array,
    gpus: float | Array,
    usd_per_gpu_hour: float | Array,
    use: Use,
    prefix_hit: float | Array = 0.0,
    prefill_share: float | Array | None = None,
    kw_per_gpu: float | Array | None = None,
    cached_weight: float = CACHED_WEIGHT,
) -> TokenCosts[Array]: ...


@overload
def token_costs(
    *,
    output_tps_total: Estimate,
    isl: float,
    osl: float,
    gpus: float,
    usd_per_gpu_hour: float,
    use: Use,
    prefix_hit: float = 0.0,
    prefill_share: float | None = None,
    kw_per_gpu: float | None = None,
    cached_weight: float = CACHED_WEIGHT,
) -> TokenCosts[Estimate]: ...


def token_costs(*, output_tps_total: Any, use: Use, **given: Any) -> TokenCosts[Any]:
    """Return what tokens cost on a deployment that runs at this rate whenever it is used.

    Parameters
    ----------
    output_tps_total : float, numpy array or Estimate
        Generated tokens of the whole deployment [tok/s]; the fields of the answer are of the same sort.
    isl, osl : float or array
        Input and output of a request [tokens].
    gpus : float or array
        GPUs of the whole deployment, those that only prefill included.
    usd_per_gpu_hour : float or array
        Price of one GPU for an hour [USD/h], idle or not.
    use : Use
        Share of the paid time that serves.
    prefix_hit : float or array
        Share of the input that a cache holds, from 0 to below 1.
    prefill_share : float or array, optional
        Share of GPU time that prefill takes, from 0 to 1; of a disaggregated deployment the share of its GPUs
        that prefill. Without it nothing is apportioned.
    kw_per_gpu : float or array, optional
        All-in power of one GPU [kW]; without it there are no figures of energy.
    cached_weight : float
        Cost of a cached input token over that of an uncached one, above 0 and at most 1.

    Returns
    -------
    TokenCosts

    Raises
    ------
    InvalidInput
        When an argument is not a number in its range.

    Notes
    -----
    With ``C = gpus * usd_per_gpu_hour`` [USD/h], the output rate ``R``, the input rate ``I = R isl / osl``,
    the share ``h`` of it that is cached, the prefill share ``p``, the weight ``w`` and ``served = s``, a
    token costs, in USD:

    - everything on the output: ``C / (3600 s R)``
    - every token alike: ``C / (3600 s (R + I))``
    - apportioned: output ``(1 - p) C / (3600 s R)``, uncached input ``p C / (3600 s I (1 - h + w h))``,
      cached input ``w`` times that. Attention of the uncached input reads the cached keys and values, so
      their traffic is within the time of prefill, which the two share.
    """
    from planner.performance.intervals import Estimate  # late: it brings numpy, which `fit` does not need

    if isinstance(output_tps_total, Estimate):
        return _estimated(output_tps_total, use, given)
    return _costs(output_tps_total=output_tps_total, use=use, **given)


def _costs(
    *,
    output_tps_total: Any,
    isl: Any,
    osl: Any,
    gpus: Any,
    usd_per_gpu_hour: Any,
    use: Use,
    prefix_hit: Any = 0.0,
    prefill_share: Any = None,
    kw_per_gpu: Any = None,
    cached_weight: float = CACHED_WEIGHT,
) -> TokenCosts[Any]:
    rate = positive("output_tps_total", output_tps_total, "tok/s")
    per_hour = positive("gpus", gpus, "GPUs") * positive("usd_per_gpu_hour", usd_per_gpu_hour, "USD/h")
    input_rate = rate * positive("isl", isl, "tokens") / positive("osl", osl, "tokens")
    weight = share("cached_weight", cached_weight)
    fresh = 1.0 - part("prefix_hit", prefix_hit)
    usd_per_s = per_hour / SECONDS_PER_HOUR / use.served
    output = uncached = cached = None
    if prefill_share is not None:
        prefill = part("prefill_share", prefill_share)
        output = MILLION * usd_per_s * (1.0 - prefill) / rate
        uncached = MILLION * usd_per_s * prefill / (input_rate * (fresh + weight * (1.0 - fresh)))
        cached = weight * uncached
    joules = None if kw_per_gpu is None else 1e3 * positive("kw_per_gpu", kw_per_gpu, "kW") * gpus / rate
    return TokenCosts(
        usd_per_million_output=output,
        usd_per_million_input=uncached,
        usd_per_million_cached=cached,
        usd_per_million_total=MILLION * usd_per_s / (rate + input_rate),
        usd_per_million_output_all=MILLION * usd_per_s / rate,
        tokens_per_usd=rate / usd_per_s,
        output_tps_per_usd_per_hour=rate * use.served / per_hour,
        usd_per_hour=per_hour,
        joules_per_output_token=joules,
        kwh_per_million_output=None if joules is None else MILLION * joules / 3.6e6 / use.served,
        cached_weight=weight,
        use=use,
    )


def _estimated(rate: Estimate, use: Use, given: dict[str, Any]) -> TokenCosts[Estimate]:
    """Return costs as estimates: what falls with the rate is lowest at its high end."""
    from planner.performance.intervals import Estimate

    at = [_costs(output_tps_total=each, use=use, **given) for each in (rate.value, rate.low, rate.high)]
    values: dict[str, Any] = {}
    for field in fields(TokenCosts):
        value, one, other = (getattr(costs, field.name) for costs in at)
        plain = value is None or field.name in ("use", "cached_weight", "usd_per_hour")
        values[field.name] = (
            value if plain else Estimate(value, min(one, other), max(one, other), rate.provenance)
        )
    return TokenCosts(**values)


def cached_weight(*, kv_bytes_per_token: float, bytes_per_s: float, prefill_s_per_token: float) -> float:
    """Return the cost of a cached input token over that of an uncached one, from the traffic of its KV cache.

    Parameters
    ----------
    kv_bytes_per_token : float
        Keys and values that a rank holds of one token [bytes].
    bytes_per_s : float
        Rate at which a rank reads them from where they are kept [bytes/s]: device memory, the host over PCIe,
        or other nodes over the network.
    prefill_s_per_token : float
        Time of the deployment to prefill one uncached token [s].

    Returns
    -------
    float
        ``(kv_bytes_per_token / bytes_per_s) / prefill_s_per_token``, 1 at most: where reading takes longer
        than computing anew, an engine computes.

    Raises
    ------
    InvalidInput
        When an argument is not a finite number above 0.
    """
    read = positive("kv_bytes_per_token", kv_bytes_per_token, "bytes") / positive(
        "bytes_per_s", bytes_per_s, "bytes/s"
    )
    return min(1.0, read / positive("prefill_s_per_token", prefill_s_per_token, "s"))
