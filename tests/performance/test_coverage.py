"""Kernel coverage: each family of rules by a published case, and the order in which rules win."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture import Sharding, build_architecture
from planner.architecture.formats import FORMATS
from planner.catalogue import Catalogue, load_catalogue
from planner.catalogue.kernels import Numbers, in_range
from planner.errors import Unsupported
from planner.performance.coverage import GENERIC, KernelChoice, kernel_for, kernel_of
from planner.performance.operators import gather_operators
from planner.scenario.schemes import weight_scheme

SHIPPED = load_catalogue()


def choose(catalogue: Catalogue, gpu: str, engine: str = "vllm", **case: object) -> KernelChoice:
    return kernel_for(catalogue=catalogue, gpu=catalogue.gpu(gpu), engine=engine, **case)  # type: ignore[arg-type]


# -- MLA heads on AMD ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("engine", "version"), [("vllm", "0.26.0"), ("sglang", "0.5.18")])
def test_kimi_k3_at_tp8_prefilled_slowly_on_old_stacks(
    catalogue: Catalogue, engine: str, version: str
) -> None:
    """4,000 to 7,000 tok/s on MI355X, about 13,000 with heads padded to 16."""
    old = choose(catalogue, "mi355x", engine, version=version, kind="mla", phase="prefill", heads=12)
    assert old.slowdown == (1.86, 2.36, 3.25)
    assert 13_000 / old.slowdown[0] == pytest.approx(7_000, rel=0.01)
    assert 13_000 / old.slowdown[2] == pytest.approx(4_000, rel=0.01)
    assert old.slowdown_of == "step"
    assert "12-head" in old.note
    assert old.remedy is not None
    assert "0.28" in old.remedy
    assert "2026" in old.source


@pytest.mark.parametrize(("engine", "version"), [("vllm", "0.28.0"), ("vllm", None), ("sglang", "0.5.19")])
def test_newer_stacks_pad_kimi_k3_to_16_heads(catalogue: Catalogue, engine: str, version: str | None) -> None:
    decode = choose(catalogue, "mi355x", engine, version=version, kind="mla", phase="decode", heads=12)
    assert (decode.padded_heads, decode.slowdown) == (16, (1, 1, 1))
    assert decode.padding == pytest.approx(4 / 3)
    prefill = choose(catalogue, "mi355x", engine, version=version, kind="mla", phase="prefill", heads=12)
    assert prefill.slowdown == (1, 1, 1)


def test_24_heads_ran_on_triton_until_they_were_padded(catalogue: Catalogue) -> None:
    """Kimi-K3 at TP4: TPOT 62.696 against 41.013 ms at 16 users, 76.061 against 46.816 ms at 24."""
    old = choose(catalogue, "mi355x", version="0.28", kind="mla", phase="decode", heads=24)
    assert old.name == "TRITON_MLA"
    assert old.slowdown[0] == pytest.approx(62.696 / 41.013, abs=0.005)
    assert old.slowdown[2] == pytest.approx(76.061 / 46.816, abs=0.006)
    assert (
        choose(catalogue, "mi355x", version="0.29", kind="mla", phase="decode", heads=24).padded_heads == 32
    )


def test_aiter_had_16_and_128_heads_only(catalogue: Catalogue) -> None:
    case = {"kind": "mla", "phase": "decode", "heads": 8}
    assert choose(catalogue, "mi300x", version="0.17", **case).name == "TRITON_MLA"
    refused = choose(catalogue, "mi300x", version="0.17", kv_dtype="fp8_e4m3", **case)
    with pytest.raises(Unsupported, match=r"16 and 128 heads only.*BF16 KV cache.*2026-11"):
        refused.check()
    assert choose(catalogue, "mi300x", version="0.18", **case).padded_heads == 16
    assert choose(catalogue, "mi300x", version="0.17", kind="mla", heads=16).name == "ROCM_AITER_MLA"


def test_vllm_027_sent_few_heads_to_a_kernel_of_gfx950(catalogue: Catalogue) -> None:
    case = {"kind": "mla", "phase": "decode", "heads": 8, "version": "0.27.1"}
    assert choose(catalogue, "mi325x", **case).refused
    assert not choose(catalogue, "mi355x", **case).refused
    assert not choose(catalogue, "mi325x", **{**case, "version": "0.28"}).refused


def test_fp8_kv_with_12_heads_failed_on_027(catalogue: Catalogue) -> None:
    case = {"kind": "mla", "phase": "decode", "heads": 12, "version": "0.27"}
    assert choose(catalogue, "mi355x", kv_dtype="fp8", **case).refused
    assert not choose(catalogue, "mi355x", kv_dtype="bf16", **case).refused


# -- MLA heads on NVIDIA -------------------------------------------------------------------------------------


@pytest.mark.parametrize("heads", [8, 16, 64])
def test_flashmla_pads_to_64_heads(catalogue: Catalogue, heads: int) -> None:
    """DeepSeek-V3.2 (16) and GLM-5 (8) at TP8."""
    for gpu, engine in (("b200", "sglang"), ("h200", "sglang"), ("h200", "vllm")):
        choice = choose(catalogue, gpu, engine, kind="dsa", phase="decode", heads=heads)
        assert (choice.name, choice.padded_heads) == ("FLASHMLA_SPARSE", 64)
    assert choose(catalogue, "h200", kind="dsa", heads=65).padded_heads == 128


def test_vllm_takes_flashinfer_for_few_heads_on_blackwell(catalogue: Catalogue) -> None:
    assert choose(catalogue, "b200", version="0.16", kind="dsa", heads=16).padded_heads == 64
    new = choose(catalogue, "b200", kind="dsa", heads=16)
    assert (new.name, new.padded_heads) == ("FLASHINFER_MLA_SPARSE", 16)
    assert choose(catalogue, "b200", kind="dsa", heads=32, kv_dtype="bf16").padded_heads == 64
    assert choose(catalogue, "b200", kind="dsa", heads=32, kv_dtype="fp8").padded_heads == 32


def test_sparse_heads_of_deepseek_v4(catalogue: Catalogue) -> None:
    case = {"kind": "shared_vector", "heads": 32}
    assert choose(catalogue, "b300", "sglang", version="0.5.12", **case).padded_heads == 128
    assert choose(catalogue, "b300", "sglang", version="0.5.20", **case).padded_heads == 64
    assert choose(catalogue, "b300", version="0.26", **case).padded_heads == 32
    assert choose(catalogue, "rtx-pro-6000", version="0.25", kind="shared_vector", heads=8).padded_heads == 16


# -- head sizes and backends ---------------------------------------------------------------------------------


def test_limits_of_flash_attention_by_head_size(catalogue: Catalogue) -> None:
    def name(gpu: str, size: int, version: str | None = None) -> str:
        return choose(catalogue, gpu, kind="gqa", head_dim=size, version=version).name

    assert name("h200", 128) == name("h200", 256) == "FLASH_ATTN (FA3)"
    assert name("h200", 512) == "FLASH_ATTN (FA4)"
    assert name("h200", 512, "0.20") == name("a100", 512) == "TRITON_ATTN"
    assert name("b200", 96) == "FLASH_ATTN (FA4)"
    assert name("b200", 160) == "FLASH_ATTN (FA2)"
    assert name("b200", 512) == "FLASHINFER"
    assert name("mi300x", 128) == "ROCM_AITER_FA"
    assert name("mi300x", 96) == "TRITON_ATTN"


def test_large_heads_prefill_slower_on_sm120(catalogue: Catalogue) -> None:
    for size, tflops in ((256, 213.3), (512, 156.7)):
        choice = choose(catalogue, "rtx-pro-6000", kind="gqa", phase="prefill", head_dim=size)
        assert choice.slowdown[1] == pytest.approx(280.8 / tflops, abs=0.01)
        assert choice.slowdown_of == "operator"
    assert choose(catalogue, "rtx-pro-6000", kind="gqa", phase="decode", head_dim=512).slowdown == (1, 1, 1)


@pytest.mark.parametrize(
    ("gpu", "kind", "backend", "at_64", "at_128"),
    [
        ("mi300x", "gqa", "TRITON_ATTN", 1.30, 1.36),
        ("mi325x", "gqa", "TRITON_ATTN", 1.19, 1.28),
        ("mi355x", "gqa", "TRITON_ATTN", 1.08, 1.23),
        ("mi300x", "gqa", "ROCM_ATTN", 3.82, 2.65),
        ("mi325x", "gqa", "ROCM_ATTN", 4.36, 3.12),
        ("mi355x", "gqa", "ROCM_ATTN", 3.61, 2.88),
        ("mi300x", "mla", "TRITON_MLA", 1.33, 1.24),
        ("mi325x", "mla", "TRITON_MLA", 1.41, 1.24),
        ("mi355x", "mla", "TRITON_MLA", 1.52, 1.35),
    ],
)
def test_a_chosen_backend_costs_what_was_measured(
    catalogue: Catalogue, gpu: str, kind: str, backend: str, at_64: float, at_128: float
) -> None:
    choice = choose(catalogue, gpu, kind=kind, heads=16, head_dim=128, backend=backend)
    assert choice.slowdown[0] == min(at_64, at_128)
    assert choice.slowdown[2] == max(at_64, at_128)
    assert choose(catalogue, gpu, kind=kind, heads=16, head_dim=128).slowdown == (1, 1, 1)


# -- formats -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gpu", ["h200", "mi300x", "b200"])
def test_block_fp8_needs_whole_blocks(catalogue: Catalogue, gpu: str) -> None:
    """Qwen3-235B: experts of 1,536 are 192 wide at TP8 and 384 at TP4."""
    case = {"kind": "moe_gemm", "weight_format": "fp8-block128"}
    refused = choose(catalogue, gpu, width=1536 // 8, **case)
    with pytest.raises(Unsupported, match=r"whole blocks.*EP for the experts"):
        refused.check()
    choose(catalogue, gpu, width=1536 // 4, **case).check()


def test_mxfp4_on_mi300x_is_bf16_arithmetic(catalogue: Catalogue) -> None:
    case = {"kind": "moe_gemm", "phase": "decode", "weight_format": "mxfp4"}
    assert choose(catalogue, "mi300x", **case).compute_dtype == "bf16"
    k3 = choose(catalogue, "mi325x", model="kimi-k3", **case)
    assert (k3.compute_dtype, k3.storage_format) == ("bf16", "int4-g32")
    slow = choose(catalogue, "mi325x", model="kimi-k3", version="0.30", **case)
    assert slow.slowdown[2] == pytest.approx(99.67 / 4.27, abs=0.05)
    assert k3.slowdown == (1, 1, 1)


@pytest.mark.parametrize(
    ("gpu", "weights", "compute", "name"),
    [
        ("rtx-pro-6000", "mxfp4", "bf16", "Marlin W4A16"),
        ("h200", "mxfp4", "bf16", "Marlin W4A16"),
        ("b200", "mxfp4", "fp8", "TRT-LLM MXFP4 x MXFP8"),
        ("mi355x", "mxfp4", "fp4", "AITER MXFP4 W4A4"),
        ("b200", "nvfp4", "fp4", GENERIC),
        ("h200", "nvfp4", "bf16", "Marlin W4A16"),
        ("mi355x", "nvfp4", "fp8", "NVFP4 through FP8"),
        ("a100", "fp8-block128", "bf16", "Marlin W8A16"),
        ("mi300x", "fp8-block128", "fp8", "AITER FP8 (FNUZ)"),
        ("arc-pro-b60", "fp8-channel", "bf16", "FP8 weights in BF16"),
        ("l40s", "fp8-channel", "fp8", GENERIC),
        ("t4", "int4-awq-g128", "fp16", GENERIC),
    ],
)
def test_the_arithmetic_that_really_runs(
    catalogue: Catalogue, gpu: str, weights: str, compute: str, name: str
) -> None:
    choice = choose(catalogue, gpu, kind="gemm", weight_format=weights)
    assert (choice.name, choice.compute_dtype) == (name, compute)


def test_activations_of_kimi_k3_and_gpt_oss(catalogue: Catalogue) -> None:
    case = {"kind": "moe_gemm", "weight_format": "mxfp4"}
    assert choose(catalogue, "mi355x", model="kimi-k3", **case).compute_dtype == "fp8"
    assert choose(catalogue, "mi355x", model="gpt-oss-120b", **case).compute_dtype == "bf16"
    assert choose(catalogue, "b200", model="gpt-oss-120b", **case).compute_dtype == "bf16"


# -- how rules are picked ------------------------------------------------------------------------------------


def test_where_no_rule_speaks_the_kernel_is_generic(catalogue: Catalogue) -> None:
    choice = choose(catalogue, "h200", "unheard-of", kind="gqa", heads=8, head_dim=128)
    assert (choice.name, choice.slowdown, choice.padded_heads) == (GENERIC, (1, 1, 1), 8)
    assert choice.rule is None
    choice.check()


def test_an_alias_of_an_engine_is_the_engine(catalogue: Catalogue) -> None:
    assert choose(catalogue, "h200", "vLLM", kind="gqa").name == "FLASH_ATTN (FA3)"


@given(
    st.sampled_from(["mi300x", "mi355x", "h200", "b200", "rtx-pro-6000", "a100"]),
    st.sampled_from(["vllm", "sglang", "tensorrt-llm"]),
    st.sampled_from(["0.16", "0.18", "0.26", "0.27", "0.28", "0.29", None]),
    st.sampled_from(["mla", "dsa", "gqa", "shared_vector"]),
    st.sampled_from(["prefill", "decode"]),
    st.integers(1, 128),
    st.sampled_from(["bf16", "fp8"]),
)
def test_a_kernel_never_drops_heads_and_never_gains(
    gpu: str, engine: str, version: str | None, kind: str, phase: str, heads: int, kv: str
) -> None:
    choice = choose(
        SHIPPED, gpu, engine, version=version, kind=kind, phase=phase, heads=heads, head_dim=128, kv_dtype=kv
    )
    assert choice.padded_heads is not None
    assert choice.padded_heads >= heads
    assert 1 <= choice.slowdown[0] <= choice.slowdown[1] <= choice.slowdown[2]
    assert choice.note


def test_every_mla_shape_has_a_rule(catalogue: Catalogue) -> None:
    for version in ("0.17", "0.26", "0.27", "0.28", None):
        for gpu in ("mi300x", "mi355x", "b200", "h200", "rtx-pro-6000", "a100"):
            for heads in (8, 12, 16, 24):
                choice = choose(catalogue, gpu, version=version, kind="mla", phase="decode", heads=heads)
                assert choice.rule is not None, (version, gpu, heads)


def test_a_refusal_stands_whatever_else_is_said(catalogue: Catalogue) -> None:
    """On MI300X a rule about FP8 arithmetic states as much as the one about whole blocks."""
    rules = {rule.id: rule for rule in catalogue.kernel_rules()}
    assert rules["fp8-fnuz"].specificity >= rules["fp8-block-share"].specificity
    choice = choose(catalogue, "mi300x", kind="moe_gemm", weight_format="fp8-block128", width=192)
    assert choice.rule == "fp8-block-share"


def test_every_format_that_a_rule_names_exists(catalogue: Catalogue) -> None:
    for rule in catalogue.kernel_rules():
        assert set(rule.when.weight_formats) <= set(FORMATS), rule.id
        assert rule.storage is None or rule.storage in FORMATS, rule.id


def test_rules_find_the_operators_of_a_forward_pass(catalogue: Catalogue) -> None:
    model = catalogue.model("kimi-k3")
    architecture = build_architecture(model.config)
    operators = gather_operators(architecture, weight_scheme(model, architecture, None), Sharding(tp=8))
    choices = {
        (operator.kind, operator.label): kernel_of(
            catalogue=catalogue,
            engine="vllm",
            version="0.26",
            gpu=catalogue.gpu("mi355x"),
            operator=operator,
            phase="prefill",
            kv_dtype="fp8",
            model="kimi-k3",
        )
        for operator in operators.operators
        if operator.phase in ("prefill", "both")
    }
    assert choices["attention", "mla"].rule == "mla-aiter-few-heads-old-prefill"
    experts = [choice for (kind, _), choice in choices.items() if kind == "moe_gemm"]
    assert {choice.rule for choice in experts} == {"mxfp4-gfx950-k3"}


# -- conditions ----------------------------------------------------------------------------------------------


def test_ranges_of_versions() -> None:
    assert in_range((0, 18), ">=0.18, <0.29")
    assert in_range((0, 28, 1), ">=0.18, <0.29")
    assert not in_range((0, 29), ">=0.18, <0.29")
    assert not in_range(None, "<0.29")
    assert in_range(None, ">=0.29")
    assert in_range(None, "*")
    assert in_range((0, 5), "*")


@given(st.integers(0, 300))
def test_conditions_on_numbers(number: int) -> None:
    assert Numbers(not_multiple_of=128).holds(number) != Numbers(multiple_of=128).holds(number)
    assert Numbers(any_of=(16, 128)).holds(number) != Numbers(none_of=(16, 128)).holds(number)
    assert Numbers(at_least=17).holds(number) != Numbers(at_most=16).holds(number)
    assert not Numbers(none_of=(1,)).holds(None)


# -- MXFP8 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpu", "kernel", "compute"),
    [
        ("h200", "Marlin W8A16", "bf16"),
        ("mi300x", "BF16 experts", "bf16"),
        ("b300", GENERIC, "fp8"),
        ("mi355x", GENERIC, "fp8"),
    ],
)
def test_mxfp8_runs_in_16_bits_where_there_are_no_units_for_it(
    catalogue: Catalogue, gpu: str, kernel: str, compute: str
) -> None:
    found = choose(catalogue, gpu, kind="moe_gemm", weight_format="mxfp8")
    assert (found.name, found.compute_dtype) == (kernel, compute)
