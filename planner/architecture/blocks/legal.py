"""Which sizes a block can have, and which parallel sizes it can be divided into."""

from __future__ import annotations

from planner.errors import InvalidInput


class ImpossibleBlock(InvalidInput):
    """Sizes that no model can have, such as 7 KV heads for 40 attention heads."""


def check_groups(heads: int, groups: int, names: tuple[str, str] = ("attention heads", "KV heads")) -> None:
    """Refuse heads that cannot share so many groups.

    Parameters
    ----------
    heads, groups : int
        Heads, and the fewer groups that they share.
    names : tuple of str
        What the message calls them.

    Raises
    ------
    ImpossibleBlock
        When the groups do not divide the heads; it names the nearest numbers that do.
    """
    if heads % groups == 0:
        return
    possible = sorted(divisors(heads), key=lambda size: (abs(size - groups), size))[:2]
    near = " or ".join(str(size) for size in sorted(possible))
    raise ImpossibleBlock(f"{groups} {names[1]} do not divide {heads} {names[0]}; nearest possible: {near}")


def divisors(number: int, limit: int = 64) -> list[int]:
    """Return the divisors of `number` up to `limit`.

    Parameters
    ----------
    number : int
        What is to be divided.
    limit : int
        The largest divisor of interest.

    Returns
    -------
    list of int
        In rising order.
    """
    return [d for d in range(1, min(number, limit) + 1) if number % d == 0]


def division_refusal(what: str, number: int, size: int, option: str) -> str | None:
    """Return why `number` things cannot be divided over `size` ranks, or None.

    Parameters
    ----------
    what : str
        What is divided, in the plural, such as "attention heads".
    number, size : int
        How many there are, and over how many ranks.
    option : str
        The option that sets the size, such as "TP".

    Returns
    -------
    str or None
        A sentence that names the legal sizes.
    """
    if number % size == 0:
        return None
    legal = ", ".join(str(d) for d in divisors(number))
    return f"{option} {size} does not divide the {number} {what}; legal: {legal}"


def heads_refusal(
    q_heads: int, kv_heads: int, tp: int, names: tuple[str, str] = ("attention heads", "KV heads")
) -> str | None:
    """Return why heads and the fewer groups that they share cannot be divided over `tp` ranks, or None.

    Parameters
    ----------
    q_heads, kv_heads : int
        Query heads, and key-value heads. Key-value heads fewer than ranks are replicated, so either number
        must divide the other.
    tp : int
        Tensor-parallel size.
    names : tuple of str
        What the message calls heads and groups.

    Returns
    -------
    str or None
    """
    reason = division_refusal(names[0], q_heads, tp, "TP")
    if reason or kv_heads % tp == 0 or tp % kv_heads == 0:
        return reason
    legal = [d for d in divisors(q_heads) if kv_heads % d == 0 or d % kv_heads == 0]
    return f"TP {tp} fits no whole share of the {kv_heads} {names[1]}; legal: {', '.join(map(str, legal))}"
