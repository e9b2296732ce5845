"""Every field of the JSON of a fit answer is explained in docs/glossary.md, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import planner

PAGE = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")
FREE_KEYS = ("weights_gib_by_group", "off_gpu")
"""Keys of the first are the weight groups of a model; those of the second stand in its own row."""


def fields(value: Any) -> set[str]:
    if isinstance(value, list):
        return {name for item in value for name in fields(item)}
    if not isinstance(value, dict):
        return set()
    below = {name for key, item in value.items() if key not in FREE_KEYS for name in fields(item)}
    return {*value, *below}


def test_every_field_of_a_fit_answer_is_in_the_glossary(catalogue) -> None:
    asked = (
        {"model": "kimi-k3", "gpu": "b200", "price": 4.25},
        {"model": "deepseek-r1", "gpu": "h200", "isl": 1024, "osl": 1024, "concurrency": 64},
        {"model": "gpt-oss-120b", "gpu": "h100", "tp": 1, "price_kind": "on-demand"},
        {"model": "qwen3-next-80b-a3b", "gpu": "h100", "tp": 2, "price_kind": "spot"},
        {"model": "gpt-oss-120b", "gpu": "rtx-3090", "gpus": 1, "engine": "llama.cpp", "ngl": 13},
    )
    found = {
        name for one in asked for name in fields(planner.fit(catalogue=catalogue, **one).answer.to_dict())
    }
    table = PAGE.split("## Fields of `planner.fit/1`")[1]
    first_cells = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    explained = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}
    assert sorted(found - explained) == []
    assert sorted(explained - found) == []


def test_every_kind_of_price_and_every_size_is_in_the_glossary() -> None:
    for kind in planner.catalogue.PriceKind:
        assert f"`{kind.value}`" in PAGE
    for word in ("TP", "PP", "EP", "DP attention", "DCP", "MLA", "KV cache", "reserve", "tight", "GB, GiB"):
        assert word in PAGE
