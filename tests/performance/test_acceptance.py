"""Tokens of a speculative step: the published tables, the pooled curve, and measured gains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalogue import Catalogue, load_catalogue
from planner.errors import InvalidInput, UnknownName
from planner.performance.acceptance import Acceptance, measured_speedups, tokens_per_step

SHIPPED = load_catalogue()


@pytest.mark.parametrize(
    ("model", "draft", "drafted", "thinking", "tokens"),
    [
        ("kimi-k3", "dspark", 1, True, 1.84),
        ("kimi-k3", "dspark", 7, True, 3.78),
        ("deepseek-v4-pro", "mtp", 3, True, 2.49),
        ("deepseek-v4-pro", "mtp", 3, False, 2.97),
        ("deepseek-v4-pro", "nextn", 3, None, (2.49 + 2.97) / 2),
        ("deepseek-v4-pro-nvfp4", "mtp", 3, False, 2.97),
        ("glm-5.2", "mtp", 8, True, 4.06),
        ("minimax-m3", "eagle", 3, True, 2.83),
        ("qwen3.5-397b-a17b", "mtp", 8, True, 5.21),
        ("gpt-oss-20b", "p-eagle", 7, None, (3.94 + 3.38 + 3.70) / 3),
    ],
)
def test_golden_acceptance(
    catalogue: Catalogue, model: str, draft: str, drafted: int, thinking: bool | None, tokens: float
) -> None:
    found = tokens_per_step(catalogue=catalogue, model=model, draft=draft, drafted=drafted, thinking=thinking)
    assert found.tokens == pytest.approx(tokens)
    assert not found.pooled
    assert found.source.startswith("measured: ")


def test_a_task_that_was_measured_is_taken_as_it_is(catalogue: Catalogue) -> None:
    def k3(task: str) -> Acceptance:
        return tokens_per_step(catalogue=catalogue, model="kimi-k3", draft="dspark", drafted=7, task=task)

    assert (k3("coding").tokens, k3("Creative writing").tokens) == (4.73, 2.61)
    assert k3("coding").tables == ("kimi-k3-dspark-tasks",)
    with pytest.raises(UnknownName, match="unknown task 'codng'; nearest: coding"):
        k3("codng")


def test_a_task_of_another_model_scales_the_curve(catalogue: Catalogue) -> None:
    def glm(task: str | None) -> float:
        return tokens_per_step(catalogue=catalogue, model="glm-5.2", draft="mtp", drafted=4, task=task).tokens

    assert glm("roleplay") < glm(None) < glm("math")


def test_a_model_without_a_table_takes_the_curve_of_its_kind(catalogue: Catalogue) -> None:
    found = tokens_per_step(catalogue=catalogue, model="llama-3.3-70b", draft="eagle3", drafted=3)
    assert found.pooled
    assert found.tokens == pytest.approx((2.88 + 2.75 + 2.83 + 2.93) / 4)
    assert found.low < 2.0
    assert found.high > 3.5
    assert "pooled from 4 tables" in found.source
    other = tokens_per_step(catalogue=catalogue, draft="ngram", drafted=3)
    assert len(other.tables) > len(found.tables)


def test_tables_of_a_variant_are_not_pooled(catalogue: Catalogue) -> None:
    found = tokens_per_step(catalogue=catalogue, draft="dspark", drafted=7)
    assert "kimi-k3-dspark-thinking" in found.tables
    assert not any("block" in table or "random" in table for table in found.tables)


@given(
    st.sampled_from([None, "kimi-k3", "minimax-m3", "gpt-oss-20b", "deepseek-r1"]),
    st.sampled_from(["mtp", "eagle3", "dspark", "p-eagle", "external"]),
    st.integers(0, 20),
    st.sampled_from([None, True, False]),
)
def test_tokens_lie_between_one_and_all_drafts(
    model: str | None, draft: str, drafted: int, thinking: bool | None
) -> None:
    found = tokens_per_step(catalogue=SHIPPED, model=model, draft=draft, drafted=drafted, thinking=thinking)
    assert 1 <= found.low <= found.tokens <= found.high <= drafted + 1


def test_a_negative_number_of_drafts_is_refused(catalogue: Catalogue) -> None:
    with pytest.raises(InvalidInput, match="-1 is not possible"):
        tokens_per_step(catalogue=catalogue, draft="mtp", drafted=-1)


def test_gains_shrink_under_load(catalogue: Catalogue) -> None:
    (article,) = measured_speedups(catalogue=catalogue, model="kimi-k3", gpu="mi355x", draft="external")
    assert article.by_load == {"single": 2.2, "medium": 1.7, "peak": 1.18}
    (eagle,) = measured_speedups(catalogue=catalogue, model="kimi-k2.6")
    assert list(eagle.by_concurrency.values()) == [2.03, 1.71, 1.66]
    assert [row.id for row in measured_speedups(catalogue=catalogue, gpu="gb10")] == ["ling-3.0-flash-gb10"]
