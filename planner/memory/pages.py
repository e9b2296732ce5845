"""vLLM's pages: what one block of each kind of layer takes, and how layers are grouped to share a pool.

A block holds `tokens` tokens of one layer. Layers that keep everything form one group. Where a model mixes
kinds, pages are made equally large, the layers of each kind are cut into groups of equal size, and every
group takes its own blocks of one shared pool (vLLM's `kv_cache_utils`; the paper of Jenga, arXiv 2503.18292).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.architecture.caches import Cache, StateCache, TokenCache


def ceil_div(amount: int, by: int) -> int:
    """Return the quotient rounded up."""
    return -(-amount // by)


@dataclass(frozen=True, slots=True)
class PageRules:
    """What of the engine's version and options shapes the pages.

    Parameters
    ----------
    kv_dtype : str
        Dtype of the cache.
    tp, dcp : int
        Tensor-parallel and decode-context parallel sizes.
    block_size : int
        Tokens of a block before any alignment.
    alignment : int
        A hybrid's block is a multiple of this many tokens.
    in_flight_tokens : int
        Tokens scheduled and not settled: windows keep their blocks so long.
    state_pages : int
        Pages of each recurrent layer for one request.
    state_dtypes : mapping of str to str
        Dtypes of recurrent states that replace the model's own.
    entry_multiple : int
        An entry of a latent cache is padded to a multiple of this many bytes (256 in the V0 engine).
    windows : bool
        Whether windows stop growing; False for engines that keep all tokens.
    chunked : bool
        Whether the model's windows are chunks, which start on a block.
    few_padding : float
        Kinds whose layer counts differ by less than this ratio share the larger group size.
    pooled_index_bytes : float
        Bytes of a token's share of a pooled index key (one key for several tokens); 0 for the model's own.
    """

    kv_dtype: str
    tp: int
    dcp: int
    block_size: int
    alignment: int
    in_flight_tokens: int
    state_pages: int
    state_dtypes: Mapping[str, str]
    entry_multiple: int = 1
    windows: bool = True
    chunked: bool = False
    few_padding: float = 1.5
    pooled_index_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class Page:
    """One block of one layer.

    Parameters
    ----------
    kind : str
        ``full``, ``index`` (shares the blocks of the full layer beside it), ``window``, ``tail`` (of a pooled
        index: one block a request) or ``state``.
    tokens : int
        Tokens of a block; 0 for states.
    bytes : int
        Bytes of a block, padding included.
    window : int
        Tokens that are kept, 0 for all.
    """

    kind: str
    tokens: int
    bytes: int
    window: int = 0

    def request_blocks(self, context: int, rules: PageRules) -> int:
        """Return the blocks that one request of `context` tokens takes in a group of such layers.

        Parameters
        ----------
        context : int
            Tokens of the request.
        rules : PageRules
            The engine's rules.

        Returns
        -------
        int
        """
        if self.kind == "state":
            return rules.state_pages
        if self.kind == "tail":
            return 1
        if self.kind in ("full", "index"):
            return ceil_div(ceil_div(context, rules.dcp), self.tokens)
        if rules.chunked:
            return ceil_div(min(self.window + rules.in_flight_tokens, context), self.tokens)
        # The window may start inside a block, hence one block more.
        return ceil_div(min(self.window - 1 + rules.in_flight_tokens, context), self.tokens) + 1


@dataclass(frozen=True, slots=True)
class Layout:
    """How the layers of one rank share the pool.

    Parameters
    ----------
    block_size : int
        Tokens of a block as the engine reports it.
    block_bytes : int
        Bytes of one block over all layers of the rank.
    groups : tuple of Page
        One page for each group; a request takes blocks from each.
    hybrid : bool
        Whether there are recurrent states among the groups.
    """

    block_size: int
    block_bytes: int
    groups: tuple[Page, ...]
    hybrid: bool

    def request_blocks(self, context: int, rules: PageRules) -> int:
        """Return the blocks that one request of `context` tokens takes over all groups."""
        return sum(page.request_blocks(context, rules) for page in self.groups)


def entry_bytes(cache: TokenCache, rules: PageRules) -> float:
    """Return the bytes of one entry of a token cache on one rank, padded as the engine pads it."""
    size = cache.entry_bytes(rules.kv_dtype, rules.tp)
    if rules.entry_multiple > 1 and cache.kind == "latent":
        return ceil_div(int(size), rules.entry_multiple) * rules.entry_multiple
    return size


def build_layout(caches: Counter[Cache], rules: PageRules, whole: Counter[Cache] | None = None) -> Layout:
    """Return how vLLM lays out the caches of one pipeline stage.

    Parameters
    ----------
    caches : Counter of Cache
        The caches of the stage with how many layers keep each.
    rules : PageRules
        The engine's rules.
    whole : Counter of Cache, optional
        The caches of all stages, since groups are formed over the whole model.

    Returns
    -------
    Layout
    """
    block = block_tokens(whole or caches, rules)
    pages = _pages(caches, block, rules)
    everywhere = _pages(whole, block, rules) if whole is not None else pages
    if any(isinstance(cache, TokenCache) and cache.kind == "compressed" for cache in whole or caches):
        from planner.memory.packed import packed_layout

        return packed_layout(caches, whole or caches, block, rules)
    if len({(page.kind, page.window) for page in everywhere if page.kind != "index"}) <= 1:
        total = sum(page.bytes * count for page, count in pages.items())
        first = next(iter(everywhere), Page("full", block, 0))
        return Layout(block, total, (first,), first.kind == "state")
    return _grouped(pages, everywhere, block, rules)


def block_tokens(caches: Counter[Cache], rules: PageRules) -> int:
    """Return the tokens of a block, large enough that an attention page holds a recurrent state.

    Parameters
    ----------
    caches : Counter of Cache
        The caches of the model.
    rules : PageRules
        The engine's rules.

    Returns
    -------
    int
        ``alignment * ceil(state / (alignment * bytes per token))`` for hybrids, if that is larger.
    """
    states = [
        cache.request_bytes(rules.tp, rules.state_dtypes) for cache in caches if isinstance(cache, StateCache)
    ]
    attention = [
        entry_bytes(c, rules) / c.stride for c in caches if isinstance(c, TokenCache) and c.kind != "index"
    ]
    if not states or not attention:
        return rules.block_size
    step = max(rules.alignment, rules.block_size)
    # The model's first kind of attention sets the size, as vLLM asks the model for one head size.
    needed = step * ceil_div(max(states), int(step * attention[0]))
    return max(rules.block_size, needed)


def _pages(caches: Counter[Cache], block: int, rules: PageRules) -> Counter[Page]:
    pages: Counter[Page] = Counter()
    for cache, count in caches.items():
        if isinstance(cache, StateCache):
            pages[Page("state", 0, cache.request_bytes(rules.tp, rules.state_dtypes))] += count
            continue
        per_token = entry_bytes(cache, rules) / cache.stride
        if cache.kind == "index":
            pooled = cache.stride > 1 and rules.pooled_index_bytes
            pages[Page("index", block, int(block * (pooled or per_token)))] += count
        elif cache.window is not None and rules.windows:
            pages[Page("window", block, int(block * per_token), cache.window)] += count
        else:
            pages[Page("full", block, int(block * per_token))] += count
    return pages


def _grouped(pages: Counter[Page], everywhere: Counter[Page], block: int, rules: PageRules) -> Layout:
    """Cut the layers of each kind into groups of equal size, which share the pool.

    Index keys take no group: they lie beside the pages of their own layers.
    """
    shared = {page: count for page, count in everywhere.items() if page.kind != "index"}
    beside = sum(page.bytes * count for page, count in pages.items() if page.kind == "index")
    largest = max(page.bytes for page in shared)
    unified = {page: unify(page, largest) for page in shared}
    counts: Counter[Page] = Counter()
    for page, count in shared.items():
        counts[unified[page]] += count
    fewest, most = min(counts.values()), max(counts.values())
    size = most if most < fewest * rules.few_padding else fewest
    groups = {page: ceil_div(count, size) for page, count in counts.items()}
    here: Counter[Page] = Counter()
    for page, count in pages.items():
        if page in unified:
            here[unified[page]] += count
    size_here = max(ceil_div(here[page], groups[page]) for page in groups)
    tail = (Page("tail", 0, 0),) if beside and rules.pooled_index_bytes else ()
    return Layout(
        block_size=block,
        block_bytes=largest * size_here + beside,
        groups=(*(page for page, number in groups.items() for _ in range(number)), *tail),
        hybrid=any(page.kind == "state" for page in groups),
    )


def unify(page: Page, largest: int) -> Page:
    """Return a page as large as the largest: with more tokens where that divides evenly, else padded."""
    if page.kind != "state" and page.bytes and largest % page.bytes == 0:
        return replace(page, tokens=page.tokens * (largest // page.bytes), bytes=largest)
    return replace(page, bytes=largest)
