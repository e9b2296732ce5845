"""How sure an answer is: its own spread, and what start-up logs say of such answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

import planner
from planner.measurement.accuracy import Accuracy, MemoryAccuracy
from planner.report.certainty import how_known, how_sure
from tests.report.made import GIB, answer, judged

CHECKED = MemoryAccuracy("vllm", "mla", Accuracy(8, 0.0031, 0.54), Accuracy(9, 0.0059, 0.36))


def with_accuracy(found, made=None):
    return replace(made or answer(), accuracy=found)


def test_the_pool_has_the_spread_that_the_fit_states_in_bytes_and_in_tokens():
    assert how_sure(answer()) == "KV pool 38.0 ± 1.0 GiB, 622,592 ± 16,000 tokens"
    record = answer().to_dict()["certainty"]
    assert record["kv_tokens_uncertainty"] == 622_592 // 38
    assert how_sure(judged(weights_gib=190.0)) == ""


def test_logs_of_the_kind_are_counted_with_their_errors():
    assert how_sure(with_accuracy(CHECKED)).endswith(
        "; checked on 8 logs of MLA under vllm: KV pool within 0.3 % median, 54 % at worst; "
        "weights within 0.6 % median (9 logs)"
    )
    one = replace(CHECKED, kv_pool=Accuracy(1, 0.02, 0.02), weights=None)
    assert how_sure(with_accuracy(one)).endswith(
        "; checked on only 1 log of MLA under vllm: KV pool within 2.0 % median"
    )


def test_a_kind_with_bad_logs_says_not_to_rely_on_it():
    bad = replace(CHECKED, kv_pool=Accuracy(4, 1.36, 2.9))
    assert "on 4 logs of MLA under vllm the KV pool was off by 136 % median: do not rely on it" in how_sure(
        with_accuracy(bad)
    )


def test_a_kind_without_logs_says_that_it_is_unchecked(catalogue):
    none = MemoryAccuracy("vllm", "kda_linear+mla", None, None)
    assert how_sure(with_accuracy(none)).endswith(
        "no start-up log of KDA beside MLA under vllm has been compared, so this is unchecked"
    )
    record = planner.fit(model="minicpm-sala", gpu="b200", catalogue=catalogue).answer.to_dict()["certainty"]
    assert record["kv_pool"] is record["weights"] is None
    assert "unchecked" in record["text"]


@pytest.mark.parametrize(
    ("part", "known"), [("weights", "computed"), ("buffers", "calibrated"), ("reserve", "published")]
)
def test_every_part_says_how_it_is_known(part, known):
    made = answer().memory
    assert how_known(part, made) == known
    assert how_known("reserve", replace(made, assumptions=())) == "given"


def test_every_row_of_the_memory_table_says_how_it_is_known(catalogue):
    from planner.report.tables import memory_table

    made = planner.fit(model="kimi-k3", gpu="mi355x", catalogue=catalogue).answer
    assert all(row["known"] for row in memory_table(made).rows)
    assert made.memory.per_rank.usable_bytes > GIB
