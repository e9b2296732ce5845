"""What a memory answer is made of: one rank's bytes, the KV pool, the verdict and what was assumed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from planner.scenario import Deployment

if TYPE_CHECKING:
    from planner.memory.off_gpu import HostSide


@dataclass(frozen=True, slots=True)
class Assumption:
    """A value that nobody gave: what it is, and why it may be believed.

    Parameters
    ----------
    name : str
        What it stands for, such as ``memory_fraction``.
    value : object
        The value, in SI units where it is a quantity.
    unit : str
        Its unit; empty for counts and names.
    provenance : str
        Published, measured, calibrated or assumed, and from what.
    """

    name: str
    value: object
    unit: str
    provenance: str


@dataclass(frozen=True, slots=True)
class StageMemory:
    """The memory of the fullest GPU of one pipeline stage [bytes].

    Parameters
    ----------
    stage : int
        Number of the stage, from 0.
    layers : tuple of int
        First and last layer, counted from 0 and both included; (0, -1) for a stage without layers.
    usable_bytes : float
        What a process can get of the device.
    budget_bytes : float
        What the engine's rule lets it use.
    weights_bytes : float
        Weights, with draft and towers where they are loaded.
    weights_by_group : Counter
        The same by weight group.
    activation_bytes, graph_bytes, non_torch_bytes : float
        Peak activation of a profile step, captured graphs, and communication buffers with the device context.
    kv_pool_bytes : float
        The KV pool, states included; 0 where nothing is left.
    state_bytes : float
        Recurrent states of one request, in pages where the engine keeps them so.
    available_bytes : float
        What is left for the KV pool before it is cut into blocks; negative where the rest does not fit.
    """

    stage: int
    layers: tuple[int, int]
    usable_bytes: float
    budget_bytes: float
    weights_bytes: float
    weights_by_group: Counter[str]
    activation_bytes: float
    graph_bytes: float
    non_torch_bytes: float
    kv_pool_bytes: float
    state_bytes: float
    available_bytes: float

    @property
    def taken_bytes(self) -> float:
        """Return what is in use once the engine runs: weights, working memory, graphs and the KV pool."""
        working = self.activation_bytes + self.graph_bytes + self.non_torch_bytes
        return self.weights_bytes + working + self.kv_pool_bytes

    @property
    def reserve_bytes(self) -> float:
        """Return what stays unused; graphs that are captured after the pool is cut are not a part of it."""
        return max(self.usable_bytes - self.taken_bytes, 0.0)


@dataclass(frozen=True, slots=True)
class Pool:
    """The KV pool of one rank and what it holds.

    Parameters
    ----------
    available_bytes : float
        Memory the pool is cut from, on the rank that has the least.
    bytes : float
        Memory of whole blocks.
    blocks : int or None
        Blocks, where the engine counts in blocks.
    block_size : int or None
        Tokens of one block.
    tokens : int
        Tokens as the engine's version prints them, over all data-parallel copies of one: for vLLM up to
        0.20.0 those of the blocks of one group, from 0.20.1 requests of the longest context times its length.
    max_concurrency : float
        Requests of the asked context that it holds.
    request_bytes : float
        What one request of the asked context takes.
    state_bytes : float
        Of these, recurrent states.
    max_context : int
        Longest request that fits alone.
    slots : int or None
        Requests that can run at once for another reason than tokens: blocks of hybrids, state slots.
    copies : int
        Data-parallel copies that `tokens` and `max_concurrency` add up; an engine's log prints one copy.
    most_slots : int or None
        Where the pool is allocated for the requests that are asked for: how many of the longest could be.
        None where the engine takes all that is left. Bytes of such a pool are those of all its devices.
    engine_slots : int or None
        How many slots the engine takes whatever the memory.
    slot_limit : str or None
        Why no more, where memory would hold more.
    """

    available_bytes: float
    bytes: float
    blocks: int | None
    block_size: int | None
    tokens: int
    max_concurrency: float
    request_bytes: float
    state_bytes: float
    max_context: int
    slots: int | None = None
    copies: int = 1
    most_slots: int | None = None
    engine_slots: int | None = None
    slot_limit: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryFit:
    """Whether one deployment fits, and why.

    Parameters
    ----------
    model, gpu : str
        Ids.
    deployment : Deployment
        With every default resolved.
    context : int
        Longest request [tokens].
    concurrency : int
        Requests of `request_tokens` that were asked to run at once.
    request_tokens : int
        Length of one such request [tokens].
    fits : bool
        Whether it starts and holds what was asked.
    verdict : str
        ``fits``, ``tight`` (within the uncertainty of the overheads) or ``does not fit``.
    binding_limit : str
        What ends first.
    remedies : tuple of str
        What would lift that limit, most useful first.
    stages : tuple of StageMemory
        One for each pipeline stage.
    per_rank : StageMemory
        The stage that decides.
    kv_bytes_per_token_per_rank : float
        Growth of one rank's cache for one more token in a long context [bytes].
    pool : Pool
        The KV pool.
    margin_bytes : float
        What is left over what was asked, on the rank that decides; negative where it does not fit [bytes].
    uncertainty_bytes : float
        How far the margin may be off: overheads differ between set-ups of one kind [bytes].
    safe_max_num_seqs : int or None
        Largest `max_num_seqs` with which a hybrid model starts.
    overdrawn : bool
        Whether the engine runs out of memory while it profiles or warms up, whatever the pool would hold.
    warnings : tuple of str
        What the user should know.
    assumptions : tuple of Assumption
        Every value that was not given.
    host_side : HostSide or None
        What the host holds, where not all is on the GPU.
    """

    model: str
    gpu: str
    deployment: Deployment
    context: int
    concurrency: int
    request_tokens: int
    fits: bool
    verdict: str
    binding_limit: str
    remedies: tuple[str, ...]
    stages: tuple[StageMemory, ...]
    per_rank: StageMemory
    kv_bytes_per_token_per_rank: float
    pool: Pool
    margin_bytes: float
    uncertainty_bytes: float
    safe_max_num_seqs: int | None = None
    overdrawn: bool = False
    warnings: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = field(default=())
    host_side: HostSide | None = None

    @property
    def holds(self) -> bool:
        """Return whether the pool holds what was asked, if the engine starts."""
        return self.max_context >= self.context and self.max_concurrency >= self.concurrency

    @property
    def kv_tokens(self) -> int:
        """Return the tokens of the KV pool as the engine prints them."""
        return self.pool.tokens

    @property
    def kv_blocks(self) -> int | None:
        """Return the blocks of the KV pool."""
        return self.pool.blocks

    @property
    def block_size(self) -> int | None:
        """Return the tokens of one block."""
        return self.pool.block_size

    @property
    def max_concurrency(self) -> float:
        """Return how many requests of the asked context the pool holds."""
        return self.pool.max_concurrency

    @property
    def needed_kv_bytes(self) -> float:
        """Return what one request of the asked context takes in the pool [bytes]."""
        return self.pool.request_bytes

    @property
    def max_context(self) -> int:
        """Return the longest request that fits alone [tokens]."""
        return self.pool.max_context
