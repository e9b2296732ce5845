"""From a Hugging Face configuration to an architecture, one file for each family of models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from planner.architecture.config import Config
from planner.architecture.model import Architecture
from planner.errors import UnsupportedArchitecture, nearest_names

# Architecture name (`architectures[0]`) -> module of this package that builds it. A family is imported only
# when a model of it is asked for.
FAMILIES: dict[str, str] = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "llama",
}


def build_architecture(config: Mapping[str, Any], where: str = "config.json") -> Architecture:
    """Build the architecture that a configuration describes.

    Parameters
    ----------
    config : mapping
        A decoded Hugging Face ``config.json``.
    where : str
        What error messages name.

    Returns
    -------
    Architecture

    Raises
    ------
    UnsupportedArchitecture
        When no family knows the architecture; nothing is guessed.
    InvalidInput
        When a field is missing or impossible.
    """
    view = Config(config, where)
    names = view.items("architectures", str)
    if not names:
        raise UnsupportedArchitecture(f"{where}: architectures is empty, so the model's parts are unknown")
    module = FAMILIES.get(names[0])
    if module is None:
        near = nearest_names(names[0], FAMILIES)
        hint = f"; nearest known: {', '.join(near)}" if near else ""
        raise UnsupportedArchitecture(
            f"{where}: architecture {names[0]!r} is unknown: no family describes its blocks{hint}"
        )
    build: Callable[[Config], Architecture] = import_module(f"{__name__}.{module}").build
    return build(view)
