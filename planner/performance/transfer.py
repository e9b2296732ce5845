"""How long a KV cache takes from a prefill server to a decode server, by measured curves."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

from planner.catalogue import Catalogue
from planner.catalogue.effects import TransferCurve
from planner.errors import InvalidInput, unknown_name


@dataclass(frozen=True, slots=True)
class TransferTime:
    """Time of one KV transfer.

    Parameters
    ----------
    time_s, low_s, high_s : float
        By the nearest curve, and the range over all curves of the library [s].
    rate_bytes_per_s : float
        Achieved rate.
    curve : str
        Id of the curve in the catalogue.
    source : str
        Confidence, source and date.
    """

    time_s: float
    low_s: float
    high_s: float
    rate_bytes_per_s: float
    curve: str
    source: str


def transfer_time(
    *,
    catalogue: Catalogue,
    transferred_bytes: float,
    library: str = "mooncake",
    fabric: str = "roce",
    line_rate_bytes_per_s: float | None = None,
    piece_bytes: float | None = None,
) -> TransferTime:
    """Return how long a transfer takes.

    A curve gives a fixed part and a part at its highest rate; the latter is scaled to the line rate. Times
    are interpolated between sizes, in the logarithms of both; below the first size the fixed part stays, and
    above the last the rate.

    Parameters
    ----------
    catalogue : Catalogue
        With the curves (`transfers:` in `data/stacks.yaml`).
    transferred_bytes : float
        Bytes of the transfer.
    library : str
        ``mooncake``, ``mori`` or ``nixl``.
    fabric : str
        ``roce``, ``infiniband``, ``efa``, ``tcpxo``: a curve of the same is preferred.
    line_rate_bytes_per_s : float, optional
        Line rate of all links that the transfer uses [bytes/s]; None is that of the curve.
    piece_bytes : float, optional
        Size of contiguous pieces [bytes], such as one block of one layer; None where pieces are large.

    Returns
    -------
    TransferTime

    Raises
    ------
    InvalidInput
        For sizes or rates that are not above 0.
    UnknownName
        For a library without a curve.
    """
    amounts = {
        "transferred_bytes": transferred_bytes,
        "line_rate_bytes_per_s": line_rate_bytes_per_s,
        "piece_bytes": piece_bytes,
    }
    for name, amount in amounts.items():
        if amount is not None and not 0 < amount < math.inf:
            raise InvalidInput(f"{name}: {amount} is not possible; above 0")
    curves = [curve for curve in catalogue.transfer_curves() if curve.library == library.lower()]
    if not curves:
        known = dict.fromkeys(curve.library for curve in catalogue.transfer_curves())
        raise unknown_name("transfer library", library, known)
    wanted = "transfer" if piece_bytes is None else "piece"
    best = max(curves, key=lambda curve: (curve.fabric == fabric, curve.by == wanted, len(curve.points)))
    line_rate = line_rate_bytes_per_s or best.line_rate
    times = {curve.id: _time_s(curve, transferred_bytes, line_rate, piece_bytes) for curve in curves}
    time = times[best.id]
    return TransferTime(
        time,
        min(times.values()),
        max(times.values()),
        transferred_bytes / time,
        best.id,
        best.provenance(),
    )


def _time_s(curve: TransferCurve, total: float, line_rate: float | None, piece: float | None) -> float:
    """Return the time of a transfer by one curve [s]."""
    size = min(total, piece or max(curve.points)) if curve.by == "piece" else total
    one = _interpolate(curve, size)
    wire = size / max(curve.points.values())
    scale = curve.line_rate / line_rate if curve.line_rate and line_rate else 1.0
    time = (one - wire + wire * scale) * total / size
    return max(time, total / line_rate) if line_rate else time


def _interpolate(curve: TransferCurve, size: float) -> float:
    """Return the time of one transfer or piece [s]."""
    sizes = list(curve.points)
    times = [at / rate for at, rate in curve.points.items()]
    if size <= sizes[0]:
        return times[0] - (sizes[0] - size) / max(curve.points.values())
    if size >= sizes[-1]:
        return size / curve.points[sizes[-1]]
    at = bisect_left(sizes, size)
    share = math.log(size / sizes[at - 1]) / math.log(sizes[at] / sizes[at - 1])
    return math.exp((1 - share) * math.log(times[at - 1]) + share * math.log(times[at]))
