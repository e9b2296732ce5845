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


def packed_layout(caches: Counter[Cache], whole: Counter[Cache], block: int, rules: PageRules) -> Layout:
    """Return the layout of a stage of a model whose layers compress their tokens.

    Parameters
    ----------
    caches, whole : Counter of Cache
        The caches of the stage, and of the whole model, which decides on sizes and groups.
    block : int
        Tokens of a block of compressed layers.
    rules : PageRules
        The engine's rules.

    Returns
    -------
    Layout
    """
    full = _full_pages(whole, block, rules)
    windows = _window_pages(whole, sorted(full), rules)
    wanted = [max(full.values()), *(max(sizes.values()) for sizes in windows.values())]
    per_group = least_padding(wanted, wanted[0])
    slots = _full_pages(caches, block, rules)
    here = _window_pages(caches, sorted(full), rules)
    groups = [Page("full", block, sum(full))]
    for (size, window), sizes in windows.items():
        number = ceil_div(max(sizes.values()), per_group)
        groups += [Page("window", size, 0, window)] * number
        for page_bytes, count in here[size, window].items():
            slots[page_bytes] = max(slots[page_bytes], ceil_div(count, number))
    return Layout(
        block_size=block,
        block_bytes=sum(size * count for size, count in slots.items()),
        groups=tuple(groups),
        hybrid=False,
    )


def _full_pages(caches: Counter[Cache], block: int, rules: PageRules) -> Counter[int]:
    """Return the layers that keep everything by the size of their page."""
    pages: Counter[int] = Counter()
    for cache, count in caches.items():
        if isinstance(cache, TokenCache) and cache.window is None:
            pages[_padded(block * entry_bytes(cache, rules) / cache.stride)] += count
    return pages


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
    caches: Counter[Cache], sizes: Sequence[int], rules: PageRules
) -> dict[tuple[int, int], Counter[int]]:
    """Return layers by page size for each (tokens of a block, window).

    A block holds as many tokens, a power of two, as the largest page has room for; where it has room for
    none, it holds one and has a page of its own. Sums of tokens, which are wide, share a block table with
    other sums of the same window but not with entries.
    """
    families: dict[tuple[int, bool], list[tuple[TokenCache, int]]] = defaultdict(list)
    for cache, count in caches.items():
        if isinstance(cache, TokenCache) and cache.window is not None:
            families[cache.window, cache.width > 0].append((cache, count))
    found: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for (window, _), members in families.items():
        widest = max(entry_bytes(cache, rules) for cache, _ in members)
        tokens = 1 << max(0, int(sizes[-1] // widest).bit_length() - 1)
        for cache, count in members:
            needed = tokens * entry_bytes(cache, rules)
            roomy = (size for size in sizes if size >= needed)
            found[tokens, window][min(roomy, default=_padded(needed))] += count
    return found
