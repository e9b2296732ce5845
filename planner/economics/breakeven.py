"""Where two options cost the same, in closed form: price, utilisation and volume.

What has no closed form, and how sure a flip is, stands in `planner.planning.breakeven`.
"""

from __future__ import annotations

from planner.economics.amounts import positive
from planner.economics.hosted import HostedPrice
from planner.economics.monthly import output_tokens_per_month, usd_per_month
from planner.economics.tokens import MILLION
from planner.economics.use import Use


def flip_price(
    *, output_tps: float, gpus: float, other_output_tps: float, other_usd_per_hour: float
) -> float:
    """Return the price of a GPU at which an option's tokens cost what another's do; below, it is cheaper.

    Parameters
    ----------
    output_tps : float
        Output rate of the option whose price is sought [tok/s].
    gpus : float
        Its GPUs.
    other_output_tps : float
        Output rate of the other option [tok/s].
    other_usd_per_hour : float
        What all of the other option costs an hour [USD/h].

    Returns
    -------
    float
        ``other_usd_per_hour * output_tps / (other_output_tps * gpus)`` [USD per GPU-hour].

    Raises
    ------
    InvalidInput
        When an argument is not a finite number above 0.

    Notes
    -----
    1,568 tok/s on 8 B300 against 952 on 8 MI355X: at 1,568 / 952 = 1.647 times the MI355X's price.
    """
    rate = positive("output_tps", output_tps, "tok/s") / positive("gpus", gpus, "GPUs")
    other = positive("other_output_tps", other_output_tps, "tok/s")
    return rate * positive("other_usd_per_hour", other_usd_per_hour, "USD/h") / other


def flip_utilisation(*, rent_usd_per_gpu_hour: float, own_usd_per_gpu_hour: float) -> float | None:
    """Return the utilisation above which owning is cheaper than renting only the hours that are used.

    Parameters
    ----------
    rent_usd_per_gpu_hour : float
        Price of a rented GPU [USD/h], paid while it is used, as on demand. A rent that is committed to is
        paid every hour, as owning is; then the lower price wins at any utilisation.
    own_usd_per_gpu_hour : float
        Cost of an owned GPU [USD/h], paid every hour.

    Returns
    -------
    float or None
        ``own / rent``; None where that is 1 or more, so that renting is cheaper at any utilisation.

    Raises
    ------
    InvalidInput
        When a price is not a finite number above 0.
    """
    own = positive("own_usd_per_gpu_hour", own_usd_per_gpu_hour, "USD/h")
    share = own / positive("rent_usd_per_gpu_hour", rent_usd_per_gpu_hour, "USD/h")
    return share if share < 1 else None


def flip_volume(
    *,
    hosted: HostedPrice,
    isl: float,
    osl: float,
    output_tps_total: float,
    gpus: int,
    usd_per_gpu_hour: float,
    use: Use,
    prefix_hit: float = 0.0,
) -> float | None:
    """Return the output of a month above which one deployment is cheaper than a hosted API.

    Parameters
    ----------
    hosted : HostedPrice
        The API.
    isl, osl, prefix_hit : float
        Tokens of a request, and the cached share of its input, for either option.
    output_tps_total : float
        Output rate of the deployment at full load [tok/s].
    gpus : int
        Its GPUs.
    usd_per_gpu_hour : float
        Price of one GPU [USD/h], paid every hour.
    use : Use
        Highest mean utilisation that is planned, and availability: they bound what one deployment carries.

    Returns
    -------
    float or None
        A month of the deployment over what the API asks for an output token with its input [tokens a month].
        None where that is more than one deployment carries: then the API is cheaper however many there are.

    Raises
    ------
    InvalidInput
        When an argument is not a number in its range.
    """
    month = usd_per_month(gpus=gpus, usd_per_gpu_hour=usd_per_gpu_hour)
    per_million = hosted.usd_per_million_output_all(isl=isl, osl=osl, prefix_hit=prefix_hit)
    volume = MILLION * month / per_million
    carried = output_tokens_per_month(output_tps_total=output_tps_total, use=use)
    return volume if volume <= carried else None
