"""vLLM's packed layout of compressed attention (DeepSeek-V4): pages of several sizes in one block.

Compressed entries, index keys, windows and the compressors' sums have pages of few sizes; a block holds one
page for each of a number of slots, and layers of different groups share a slot (vLLM's
`_get_kv_cache_config_packed`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from planner.architecture.caches import Cache, TokenCache
from planner.memory.pages import Layout, Page, PageRules, ceil_div, entry_bytes

PAGE_MULTIPLE = 576
"""Pages of the FP8 layout are padded to a multiple of this many bytes, as FlashMLA wants them."""


def packed_layout(caches: Counter[Cache], block: int, rules: PageRules) -> Layout:
    """Return the layout of a stage whose layers compress their tokens.

    Parameters
    ----------
    caches : Counter of Cache
        The caches of the stage.
    block : int
        Tokens of a block of compressed layers.
    rules : PageRules
        The engine's rules.

    Returns
    -------
    Layout
    """
    tokens = {cache: count for cache, count in caches.items() if isinstance(cache, TokenCache)}
    full: Counter[int] = Counter()
    for cache, count in tokens.items():
        if cache.window is None:
            full[_padded(block * entry_bytes(cache, rules) / cache.stride)] += count
    windows = _window_pages([(c, n) for c, n in tokens.items() if c.window is not None], sorted(full), rules)
    wanted = [max(full.values()), *(max(sizes.values()) for sizes in windows.values())]
    per_group = least_padding(wanted, wanted[0])
    slots = Counter(full)
    groups = [Page("full", block, sum(full))]
    for (size, window), sizes in windows.items():
        number = ceil_div(max(sizes.values()), per_group)
        groups += [Page("window", size, 0, window)] * number
        for page_bytes, count in sizes.items():
            slots[page_bytes] = max(slots[page_bytes], ceil_div(count, number))
    return Layout(
        block_size=block,
        block_bytes=sum(size * count for size, count in slots.items()),
        groups=tuple(groups),
        hybrid=False,
    )


def least_padding(counts: Sequence[int], at_least: int) -> int:
    """Return the group size that pads `counts` least when each is rounded up to a multiple of it.

    Parameters
    ----------
    counts : sequence of int
        Layers of each kind.
    at_least : int
        The smallest size allowed.

    Returns
    -------
    int
        Of equal ones the largest.
    """
    return min(
        range(at_least, max(counts) + 1),
        key=lambda size: (sum(-count % size for count in counts), -size),
        default=at_least,
    )


def _padded(size: float) -> int:
    return ceil_div(int(size), PAGE_MULTIPLE) * PAGE_MULTIPLE


def _window_pages(
    caches: Sequence[tuple[TokenCache, int]], sizes: Sequence[int], rules: PageRules
) -> dict[tuple[int, int], Counter[int]]:
    """Return layers by page size for each (tokens of a block, window).

    A block holds as many tokens, a power of two, as the largest page has room for; where it has room for none
    (a stage whose layers all compress much), it holds one and has a page of its own. Sums of tokens, which
    are wide, share a block table with other sums of the same window but not with entries.
    """
    families: dict[tuple[int, bool], list[tuple[TokenCache, int]]] = defaultdict(list)
    for cache, count in caches:
        families[cache.window or 0, cache.width > 0].append((cache, count))
    found: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for (window, _), members in families.items():
        widest = max(entry_bytes(cache, rules) for cache, _ in members)
        tokens = 1 << max(0, int(sizes[-1] // widest).bit_length() - 1)
        for cache, count in members:
            needed = tokens * entry_bytes(cache, rules)
            roomy = (size for size in sizes if size >= needed)
            found[tokens, window][min(roomy, default=_padded(needed))] += count
    return found
