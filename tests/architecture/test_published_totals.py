"""Every model of the catalogue: its blocks give the published totals, to the parameter and to the byte."""

from __future__ import annotations

import re
from functools import cache

import pytest

from planner.architecture import Architecture, build_architecture
from planner.architecture.totals import (
    active_parameters,
    kv_bytes_per_token,
    parameters,
    state_bytes,
    weight_bytes,
)
from planner.catalogue import load_catalogue
from planner.scenario.schemes import weight_scheme

CATALOGUE = load_catalogue()
IDS = CATALOGUE.model_ids()
VARIANTS = [
    (key, name)
    for key in IDS
    for name, variant in CATALOGUE.model(key).quantisations.items()
    if variant.weight_bytes is not None
]

# Published roundings that differ from what the tensors add up to, and why.
EXPLAINED: dict[tuple[str, str], str] = {}


@cache
def built(key: str) -> Architecture:
    return build_architecture(CATALOGUE.model(key).config, key)


@pytest.mark.parametrize("key", IDS)
def test_parameters(key):
    checks = CATALOGUE.model(key).checks
    if checks.parameters is not None:
        assert parameters(built(key)) == checks.parameters
    assert checks.active_parameters is None or active_parameters(built(key)) == checks.active_parameters


@pytest.mark.parametrize("key", IDS)
def test_checkpoint_bytes(key):
    model = CATALOGUE.model(key)
    if model.checks.weight_bytes is not None:
        assert weight_bytes(built(key), weight_scheme(model, built(key), None)) == model.checks.weight_bytes


@pytest.mark.parametrize("key", IDS)
def test_published_tensor_and_file_bytes(key):
    model = CATALOGUE.model(key)
    total = weight_bytes(built(key), weight_scheme(model, built(key), None))
    if model.published.tensor_bytes is not None:
        assert total == model.published.tensor_bytes
    if model.published.file_bytes is not None:
        # Files hold headers beside the tensors: 76 MB of them in Kimi K3's 497,220 tensors.
        assert 0 <= model.published.file_bytes - total <= 5e-5 * total


@pytest.mark.parametrize("key", IDS)
def test_cache_bytes_per_token(key):
    checks = CATALOGUE.model(key).checks
    for dtype, expected in (
        ("bf16", checks.kv_bytes_per_token_bf16),
        ("fp8", checks.kv_bytes_per_token_fp8),
    ):
        if expected is not None:
            assert kv_bytes_per_token(built(key), dtype) == expected


@pytest.mark.parametrize("key", IDS)
def test_state_bytes(key):
    expected = CATALOGUE.model(key).checks.state_bytes
    assert state_bytes(built(key)) == (expected or 0)


@pytest.mark.parametrize(("key", "variant"), VARIANTS, ids=lambda value: value)
def test_quantised_checkpoint_bytes(key, variant):
    model = CATALOGUE.model(key)
    expected = model.quantisations[variant].weight_bytes
    total = weight_bytes(built(key), weight_scheme(model, built(key), variant))
    if variant.startswith("gguf"):
        assert total == pytest.approx(expected, rel=0.005)  # a published file size, rounded to 10 MB
    else:
        assert total == expected


def stated_parameters(text: str) -> tuple[float, float]:
    """Return a publisher's figure such as "30.5B" and half a unit of its last digit."""
    number, unit = re.match(r"~?([\d.]+)([MBT])", text).groups()
    scale = {"M": 1e6, "B": 1e9, "T": 1e12}[unit]
    digits = len(number.partition(".")[2])
    return float(number) * scale, 0.5 * 10**-digits * scale
