"""Every model of the catalogue: its blocks give the published totals, to the parameter and to the byte."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import pytest

from planner.architecture import Architecture, build_architecture
from planner.architecture.totals import (
    active_parameters,
    kv_bytes_per_token,
    parameters,
    parameters_by_group,
    state_bytes,
    weight_bytes,
    weight_bytes_by_group,
)
from planner.catalogue import load_catalogue
from planner.scenario.schemes import excepted_layers, weight_scheme

CATALOGUE = load_catalogue()
IDS = CATALOGUE.model_ids()
VARIANTS = [
    (key, name)
    for key in IDS
    for name, variant in CATALOGUE.model(key).quantisations.items()
    if variant.weight_bytes is not None
]


@dataclass(frozen=True)
class Difference:
    """Why the blocks differ from the independent count of an entry, and by how much."""

    reason: str
    parameters: int = 0
    active: int = 0
    bytes_share: float = 0.0
    """The checkpoint and its quantised variants may differ by this share, and not at all where it is 0."""
    cache_bytes: float = 0
    """BF16 bytes of a token by which the blocks differ."""
    state: int = 0
    counts_draft: bool = True
    """Whether the independent count holds the draft layers."""


ENCODER = "the count rounds the encoder, which the blocks build from its configuration"
SCALES = "scales of fused and of separate matrices are counted differently"

EXPLAINED = {
    "llama-4-scout": Difference(
        "the count is the growth inside a chunk of 8,192 tokens", cache_bytes=-147_456
    ),
    "llama-4-maverick": Difference("the same", cache_bytes=-147_456),
    "phi-4": Difference(f"{SCALES}: q, k, v are one matrix", bytes_share=2e-7),
    "qwen1.5-moe-a2.7b": Difference(f"{SCALES}: gate and up are two", bytes_share=2e-6),
    "step-3": Difference(f"{SCALES}: q, k, v are three matrices", bytes_share=1e-8),
    "qwen3.5-397b-a17b": Difference(
        "two 64-row matrices, too narrow to quantise, are counted as one", bytes_share=2e-4
    ),
    "qwen3.8-flash-next": Difference(
        "the index keys and the n-gram convolution are not counted", cache_bytes=768, state=184_320
    ),
    "minimax-m3": Difference(f"index keys are not counted; {SCALES}", cache_bytes=14_592, bytes_share=3e-7),
    "nemotron-3-super-120b-a12b": Difference(
        "the draft layers are not counted", counts_draft=False, bytes_share=2e-4
    ),
    "nemotron-3-ultra-550b-a55b": Difference(
        "the draft layers are not counted", counts_draft=False, bytes_share=2e-4
    ),
    "glm-4.5-air": Difference("the draft layers are not counted", counts_draft=False, bytes_share=2e-4),
    "mimo-v2-flash": Difference(
        "64 sinks in each of 3 draft layers are not counted", parameters=192, bytes_share=6e-7
    ),
    "step-3.5-flash": Difference(
        "the drafts' query and key norms are not counted", parameters=768, bytes_share=9e-7
    ),
    "step-3.7-flash": Difference(
        "the drafts' query and key norms are not counted", parameters=768, bytes_share=9e-7
    ),
    "hy3": Difference("the draft router's bias is not counted", parameters=192, bytes_share=8e-7),
    "ernie-4.5-21b-a3b": Difference("the router's bias is FP32, as in the larger model", bytes_share=2e-6),
    "minicpm-sala-9b": Difference(
        "output, query and key norms of linear layers are not counted",
        parameters=100_352,
        active=100_352,
        bytes_share=4e-5,
    ),
    "step3-vl-10b": Difference(ENCODER, parameters=81_014_784, bytes_share=0.017),
    "granite-vision-3.3-2b": Difference(ENCODER, parameters=-2_136_768, bytes_share=0.002),
    "qwen3-omni-30b-a3b": Difference(ENCODER, parameters=7_171_633, bytes_share=6e-4),
}
SAME = Difference("")

# Constant states that no independent count holds, by hand: layers x what a layer keeps.
STATES = {
    "minimax-m1": 70 * 64 * 128 * 128 * 4,
    "minicpm-sala-9b": 24 * 32 * 128 * 128 * 4,
    "tml-inkling": 2 * 3 * (55 * 2 * (16 * 128 + 6144) + 11 * 2 * (8 * 128 + 6144)),
}


@cache
def built(key: str) -> Architecture:
    return build_architecture(CATALOGUE.model(key).config, key)


def checkpoint_bytes(key: str, variant: str | None) -> int:
    model = CATALOGUE.model(key)
    scheme = weight_scheme(model, built(key), variant)
    groups = weight_bytes_by_group(built(key), scheme, excepted_layers(model, variant))
    keep_draft = EXPLAINED.get(key, SAME).counts_draft
    return sum(size for group, size in groups.items() if keep_draft or not group.startswith("mtp_"))


@pytest.mark.parametrize("key", IDS)
def test_parameters(key):
    checks, difference = CATALOGUE.model(key).checks, EXPLAINED.get(key, SAME)
    total = parameters(built(key))
    if not difference.counts_draft:
        groups = parameters_by_group(built(key))
        total -= sum(number for group, number in groups.items() if group.startswith("mtp_"))
    if checks.parameters is not None:
        assert total == checks.parameters + difference.parameters
    if checks.active_parameters is not None:
        assert active_parameters(built(key)) == checks.active_parameters + difference.active


@pytest.mark.parametrize("key", IDS)
def test_checkpoint_bytes(key):
    expected = CATALOGUE.model(key).checks.weight_bytes
    if expected is not None:
        share = EXPLAINED.get(key, SAME).bytes_share
        assert checkpoint_bytes(key, None) == pytest.approx(expected, rel=share, abs=0)


@pytest.mark.parametrize(("key", "variant"), VARIANTS, ids=lambda value: value)
def test_quantised_checkpoint_bytes(key, variant):
    expected = CATALOGUE.model(key).quantisations[variant].weight_bytes
    share = EXPLAINED.get(key, SAME).bytes_share
    if variant.startswith("gguf"):
        share = 0.003  # a published file size, rounded to 10 MB
    assert checkpoint_bytes(key, variant) == pytest.approx(expected, rel=share, abs=0)


@pytest.mark.parametrize("key", IDS)
def test_published_tensor_and_file_bytes(key):
    model = CATALOGUE.model(key)
    total = weight_bytes(built(key), weight_scheme(model, built(key)))
    if model.published.tensor_bytes is not None:
        assert total == model.published.tensor_bytes
    if model.published.file_bytes is not None:
        # Files hold headers beside the tensors: 76 MB of them in Kimi K3's 497,220 tensors.
        assert 0 <= model.published.file_bytes - total <= 5e-5 * total


@pytest.mark.parametrize("key", IDS)
def test_cache_bytes_per_token(key):
    checks, difference = CATALOGUE.model(key).checks, EXPLAINED.get(key, SAME).cache_bytes
    if checks.kv_bytes_per_token_bf16 is not None:
        assert kv_bytes_per_token(built(key), "bf16") == checks.kv_bytes_per_token_bf16 + difference
    if checks.kv_bytes_per_token_fp8 is not None and not difference:
        assert kv_bytes_per_token(built(key), "fp8") == checks.kv_bytes_per_token_fp8


@pytest.mark.parametrize("key", IDS)
def test_state_bytes(key):
    expected = CATALOGUE.model(key).checks.state_bytes or STATES.get(key, 0)
    assert state_bytes(built(key)) == expected + EXPLAINED.get(key, SAME).state


def test_every_difference_is_explained_and_real():
    for key, difference in EXPLAINED.items():
        assert difference.reason
        assert key in IDS
        assert difference != Difference(difference.reason), f"{key} is listed without a difference"


def stated(text: str) -> tuple[float, float]:
    """Return the first figure of a publisher's text such as "30.5B" and one unit of its last digit."""
    number, unit = re.search(r"(\d+(?:\.\d+)?)([MBT])\b", text).groups()
    scale = {"M": 1e6, "B": 1e9, "T": 1e12}[unit]
    return float(number) * scale, scale / 10 ** len(number.partition(".")[2])


# Publishers count parts of their own choice: without drafts, without copies of tables, without a memory.
PARTS_APART = {
    "deepseek-v4.1-flash": "the n-gram memory and the drafts are stated apart",
    "qwen3.8-flash-next": "the n-gram table is stated apart",
    "ministral-3-8b": "vision is stated apart",
    "nemotron-3.5-lightning-30b-a3b": "the name is that of the family; 31.6B without drafts",
    "falcon-7b": "the hub counts a stored copy of the LM head",
    "falcon-40b": "the hub counts a stored copy of the LM head",
    "ernie-4.5-21b-a3b": "the name says 21B, the card 21.9B",
}
NAMED = [key for key in IDS if CATALOGUE.model(key).published.parameters and key not in PARTS_APART]


@pytest.mark.parametrize("key", NAMED)
def test_published_parameters(key):
    published, digit = stated(CATALOGUE.model(key).published.parameters)
    groups = parameters_by_group(built(key))
    without_draft = groups.total() - sum(n for group, n in groups.items() if group.startswith("mtp_"))
    text_only = without_draft - groups["vision"] - groups["talker"]
    # Names round to the nearest or down, and whole billions by up to 3 %.
    allowed = max(digit, 0.03 * published if digit >= 1e9 else 0)
    assert min(abs(n - published) for n in (groups.total(), without_draft, text_only)) <= allowed
