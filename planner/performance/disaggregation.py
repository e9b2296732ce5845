"""Prefill and decode on GPUs of their own: how long a request's cache takes from one pool to the other."""

from __future__ import annotations

import numpy as np

from planner.catalogue import Catalogue, Gpu
from planner.errors import PlannerError
from planner.performance.deployed import ASSUMED_NETWORK_BYTES_PER_S
from planner.performance.profile import Profile
from planner.performance.steady import request_bytes
from planner.performance.transfer import TransferTime, transfer_time


def kv_transfer(
    *, catalogue: Catalogue, gpu: Gpu, profile: Profile, isl: float, library: str = "mooncake"
) -> TransferTime:
    """Return how long the cache of one request takes to the decoding pool.

    Parameters
    ----------
    catalogue : Catalogue
        With the curves of transfer.
    gpu : Gpu
        The accelerator, whose links between nodes carry it.
    profile : Profile
        The prefilling deployment: its ranks send at once, each what it holds.
    isl : float
        Input tokens of the request.
    library : str
        ``mooncake``, ``mori`` or ``nixl``.

    Returns
    -------
    TransferTime
    """
    held = float(request_bytes(profile, np.array([isl]))[0]) * float(profile.tp[0])
    try:
        rate = gpu.scale_out_bytes_per_s
    except PlannerError:
        rate = ASSUMED_NETWORK_BYTES_PER_S
    return transfer_time(
        catalogue=catalogue,
        transferred_bytes=max(held, 1.0),
        library=library,
        line_rate_bytes_per_s=rate * float(profile.tp[0]),
    )
