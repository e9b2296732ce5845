"""Prices of different kinds do not compare, unless the user says that they shall."""

from __future__ import annotations

from collections.abc import Mapping

from planner.catalogue import PriceKind
from planner.errors import InvalidInput

PAID_WHEN_USED = (PriceKind.ON_DEMAND.value, PriceKind.SPOT.value)
"""Kinds of rent that end with the use; what is reserved, owned or stated by the user is paid idle too."""


def check_kinds(kinds: Mapping[str, str], mixed_kinds: bool = False) -> str | None:
    """Refuse to compare prices of different kinds, or warn of it where the user asked for it.

    Parameters
    ----------
    kinds : mapping of str to str
        Kind of price by option: `PricePerHour.kind`, or "api" for a hosted price.
    mixed_kinds : bool
        Whether the user wants to compare them all the same.

    Returns
    -------
    str or None
        The warning, where kinds are mixed.

    Raises
    ------
    InvalidInput
        Where kinds are mixed and nobody said that they may be.
    """
    by_kind: dict[str, list[str]] = {}
    for option, kind in kinds.items():
        by_kind.setdefault(kind, []).append(option)
    if len(by_kind) < 2:
        return None
    said = "; ".join(f"{kind}: {', '.join(options)}" for kind, options in by_kind.items())
    if not mixed_kinds:
        raise InvalidInput(
            f"prices of different kinds do not compare ({said}); ask for one kind, or say --mixed-kinds"
        )
    return f"prices of different kinds are compared, as you asked: {said}"
