"""What of vLLM's version and options shapes the pages, and what follows from a block's size."""

from __future__ import annotations

from planner.memory.pages import PageRules, block_tokens, ceil_div
from planner.memory.setup import Setup, state_dtypes

LATENT_VALUE_BYTES = 2
"""Keys and values are expanded in the model's 16 bits, whatever the cache is kept in."""


def page_rules(setup: Setup) -> PageRules:
    """Return what of the version and the options shapes the pages.

    Parameters
    ----------
    setup : Setup
        The deployment with its engine's settings.

    Returns
    -------
    PageRules
    """
    deployment = setup.deployment
    latent = setup.has_latents()
    pooled = setup.pools_index()
    kind = "pooled_index" if pooled else "latent" if latent else "block"
    alignment = int(setup.number(f"{kind}_alignment"))
    block = int(setup.assume("block_size", deployment.block_size, _block_setting(setup, latent)))
    if setup.has_states() and deployment.block_size is not None:
        # A hybrid's log states the block after alignment; a multiple of the alignment is taken as it is.
        alignment = alignment if deployment.block_size % alignment else deployment.block_size
    batches = setup.number("batches_in_flight") if deployment.pp == 1 else deployment.pp
    batch = setup.assume("max_num_batched_tokens", deployment.max_num_batched_tokens)
    return PageRules(
        kv_dtype=setup.kv_dtype,
        tp=deployment.tp,
        dcp=deployment.dcp,
        block_size=block,
        alignment=alignment,
        in_flight_tokens=int(batch * batches),
        state_pages=_state_pages(setup),
        state_dtypes=state_dtypes(setup),
        entry_multiple=int(setup.number("latent_entry_multiple")),
        windows=bool(setup.setting("window_groups").value),
        chunked="attention_chunk_size" in str(setup.model.config),
        few_padding=setup.number("group_padding_ratio"),
        pooled_index_bytes=setup.number("pooled_index_bytes") if pooled else 0.0,
    )


def _block_setting(setup: Setup, latent: bool) -> str:
    """Return the name of the setting with the block size of the model's attention."""
    kinds = {cache.kind for cache in setup.caches()}
    if "compressed" in kinds:
        return "compressed_block_size"
    if "index" in kinds:
        return "sparse_block_size"
    return "latent_block_size" if latent else "block_size"


def _state_pages(setup: Setup) -> int:
    """Return the pages of each recurrent layer for one request: one more where prefixes are cached."""
    caching = setup.deployment.prefix_caching
    if caching is None and setup.has_states():
        caching = bool(setup.assume("hybrid_prefix_caching", None))
    return (2 if caching else 1) + setup.deployment.speculative_tokens


def latent_workspace_bytes(setup: Setup, sequences: int | None = None) -> float:
    """Return the keys and values that a profile step of latent attention sets aside on a rank [bytes].

    Prefills of long prompts expand cached latents piece by piece; vLLM measures the largest piece with
    ``rows x heads of the rank x (nope + value) x 2 B``, where ``rows = max(min(max(8 x context,
    4 x max_num_seqs x block), 65,536), max_num_seqs x block)``, and from 0.28 whole blocks of the inner part.

    Parameters
    ----------
    setup : Setup
        The deployment with its engine's settings.
    sequences : int, optional
        Another `max_num_seqs` than the deployment's.

    Returns
    -------
    float
        0 where the model has no latents of this kind, and where nothing is set aside for them.
    """
    expanded = setup.step_widths().latent
    if not expanded or "latent_workspace_tokens" not in setup.stack.settings or _own_latents(setup):
        return 0.0
    if setup.has_index() and not setup.setting("latent_workspace_sparse").value:
        return 0.0
    most = int(setup.number("latent_workspace_tokens"))
    if sequences is None:
        sequences = int(setup.assume("max_num_seqs", setup.deployment.max_num_seqs))
    block = block_tokens(setup.caches(), page_rules(setup))
    rows = min(max(8 * setup.context, 4 * sequences * block), most)
    if most and setup.setting("latent_workspace_block_each").value:
        rows = max(rows, sequences * block)
    elif most:
        rows = ceil_div(rows, block) * block
    return float(rows * expanded * LATENT_VALUE_BYTES)


def _own_latents(setup: Setup) -> bool:
    """Return whether the engine has a module for this model's latents that sets nothing aside."""
    return any(
        item.value == setup.model.config.get("model_type") and item.applies(setup.version, setup.gpu)
        for item in setup.stack.settings.get("latent_workspace_none", ())
    )
