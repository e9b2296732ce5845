"""What kind of attention a model has, in the words of the start-up logs."""

from __future__ import annotations

from planner.architecture import Architecture
from planner.architecture.caches import StateCache, TokenCache
from planner.catalogue import Model
from planner.memory.built import SameModel, architecture_of

LINEAR = {"kda": "kda_linear+", "gdn": "gdn_hybrid_", "mamba2": "mamba2_hybrid_"}
"""Prefix for each kind of recurrent state; the others are just "linear"."""

WORDS = {
    "mha": "multi-head attention",
    "gqa": "grouped-query attention",
    "mla": "MLA",
    "mla_sparse(dsa)": "sparse MLA",
    "swa_hybrid_gqa": "sliding windows beside grouped-query attention",
    "swa_hybrid_mha": "sliding windows beside multi-head attention",
    "dsv4_compressed_hybrid": "compressed attention",
    "kda_linear+mla": "KDA beside MLA",
    "kda_linear+mla_sparse": "KDA beside sparse MLA",
    "gdn_hybrid_gqa": "gated delta nets beside grouped-query attention",
    "mamba2_hybrid_gqa": "Mamba-2 beside grouped-query attention",
    "linear_hybrid_mla": "linear attention beside MLA",
    "linear_hybrid_gqa": "linear attention beside grouped-query attention",
}
"""What people call each kind; any other is called as it is."""


def attention_kind(model: Model) -> str:
    """Return the kind of attention of a model.

    Parameters
    ----------
    model : Model
        The record.

    Returns
    -------
    str
        As the column `attention` of start-up logs names it, such as ``gqa`` or ``kda_linear+mla``.
    """
    architecture = architecture_of(SameModel(model))
    layers = {id(layer): layer for layer in architecture.layers}.values()
    caches = [cache for layer in layers for cache in layer.caches()]
    kinds = {cache.kind for cache in caches if isinstance(cache, TokenCache)}
    states = {cache.kind for cache in caches if isinstance(cache, StateCache)}
    if "compressed" in kinds:
        return "dsv4_compressed_hybrid"
    if states:
        known = next((prefix for kind, prefix in LINEAR.items() if kind in states), "linear_hybrid_")
        return f"{known}{_attention(architecture, model, kinds)}"
    if any(isinstance(cache, TokenCache) and cache.window is not None for cache in caches):
        return f"swa_hybrid_{_attention(architecture, model, kinds)}"
    base = _attention(architecture, model, kinds)
    return "mla_sparse(dsa)" if base == "mla_sparse" else base


def _attention(architecture: Architecture, model: Model, kinds: set[str]) -> str:
    if "latent" in kinds:
        return "mla_sparse" if "index" in kinds else "mla"
    heads = [
        cache.heads
        for layer in architecture.layers
        for cache in layer.caches()
        if isinstance(cache, TokenCache)
    ]
    config = model.config.get("text_config", model.config)
    asked = config.get("num_attention_heads") if isinstance(config, dict) else None
    return "mha" if heads and max(heads) == asked else "gqa"
