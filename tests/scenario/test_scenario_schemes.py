"""From the name of a quantisation to the format of every weight."""

from __future__ import annotations

import pytest

from planner.architecture import build_architecture
from planner.architecture.totals import weight_bytes
from planner.catalogue import Catalogue
from planner.errors import UnknownName
from planner.scenario import weight_scheme
from planner.scenario.schemes import checkpoint_kv_dtype, excepted_layers


def scheme(catalogue: Catalogue, model: str, name: str | None):  # type: ignore[no-untyped-def]
    record = catalogue.model(model)
    return weight_scheme(record, build_architecture(record.config, model), name)


def test_no_name_is_the_published_checkpoint(catalogue: Catalogue) -> None:
    native = scheme(catalogue, "kimi-k3", None)
    assert (native.name, native.default) == ("mxfp4", "bf16")
    assert native.by_group == {"routed_experts": "mxfp4"}
    assert scheme(catalogue, "llama-3.1-8b", "native").by_group == {}


@pytest.mark.parametrize(
    ("model", "asked", "name", "experts_or_mlp"),
    [
        ("llama-3.1-8b", "fp8", "fp8-dynamic", "fp8-channel"),
        ("llama-3.1-8b", "int4-w4a16-g128", "int4-w4a16-g128", "int4-g128"),
        ("deepseek-r1", "fp8", "fp8-block128", "fp8-block128"),
        ("gpt-oss-120b", "mxfp4", "mxfp4", "mxfp4"),
        ("minimax-m3", "fp8", "mxfp8", "mxfp8"),  # its FP8 checkpoint has scales of 32 values
    ],
)
def test_short_names_mean_the_native_format_or_the_first_variant(
    catalogue: Catalogue, model: str, asked: str, name: str, experts_or_mlp: str
) -> None:
    found = scheme(catalogue, model, asked)
    assert found.name == name
    assert experts_or_mlp in (found.by_group.get("routed_experts"), found.by_group.get("dense_mlp"))


def test_a_dtype_loads_everything_in_it(catalogue: Catalogue) -> None:
    assert scheme(catalogue, "llama-3.1-8b", "fp32").default == "f32"
    cast = scheme(catalogue, "gpt-oss-120b", "bf16")
    assert cast.by_group == {}


def test_a_format_that_no_variant_has_follows_the_usual_recipe(catalogue: Catalogue) -> None:
    found = scheme(catalogue, "qwen1.5-7b", "nvfp4")
    assert found.by_group == {"attention": "nvfp4", "dense_mlp": "nvfp4"}
    experts = scheme(catalogue, "llada2.1-mini", "mxfp4")
    assert experts.by_group == {"routed_experts": "mxfp4"}


def test_unknown_names_offer_what_there_is(catalogue: Catalogue) -> None:
    with pytest.raises(UnknownName, match=r"'fp9' of llama-3\.1-8b.*nearest: .*it has: fp8-dynamic"):
        scheme(catalogue, "llama-3.1-8b", "fp9")


def test_what_else_a_variant_says(catalogue: Catalogue) -> None:
    assert checkpoint_kv_dtype(catalogue.model("deepseek-r1"), "nvfp4") == "fp8"
    assert checkpoint_kv_dtype(catalogue.model("deepseek-r1"), None) is None
    layers = excepted_layers(catalogue.model("llama-3.1-405b"), "fp8-fbgemm")
    assert {0, 125} <= layers
    assert excepted_layers(catalogue.model("llama-3.1-405b"), None) == frozenset()


def test_a_configuration_alone_gives_the_formats_of_its_nested_part(catalogue: Catalogue) -> None:
    listed = catalogue.model("kimi-k3")
    imported = listed.model_copy(update={"weights": {}, "config_status": "imported"})
    blocks = build_architecture(imported.config)
    assert weight_bytes(blocks, weight_scheme(imported, blocks)) == 1_560_860_324_864
