"""Which simulated requests keep an SLO."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from planner.performance.simulation.requests import Requests
from planner.scenario.slo import LatencySlo


def kept(slo: LatencySlo, requests: Requests) -> npt.NDArray[np.bool_]:
    """Return which requests keep every limit; one with a single output token has no TPOT to keep.

    Parameters
    ----------
    slo : LatencySlo
        The limits.
    requests : Requests
        What was simulated.

    Returns
    -------
    array of bool
    """
    good = np.ones(len(requests.isl), dtype=np.bool_)
    if slo.ttft_s is not None:
        good &= requests.ttft_s <= slo.ttft_s
    if slo.e2e_s is not None:
        good &= requests.e2e_s <= slo.e2e_s
    if slo.tpot_s is not None:
        good &= (requests.osl == 1) | (requests.tpot_s <= slo.tpot_s)
    return good
