"""What ranks send: a sum after attention and one after the feed-forward block, tokens to experts, queries."""

from __future__ import annotations

from collections import Counter

import pytest

from planner.architecture import Sharding, build_architecture
from planner.architecture.messages import Message, layer_messages, stage_message, weight_messages


@pytest.fixture
def sent(catalogue):
    def count(model: str, **sizes: int) -> Counter[Message]:
        layers = build_architecture(catalogue.model(model).config).layers
        return Counter(m for layer in layers for m in layer_messages(layer, Sharding(**sizes)))

    return count


def test_two_sums_for_each_layer(sent):
    assert sent("llama-3.1-8b", tp=4) == {Message("all_reduce", "tp", 4, 2 * 4096): 64}


def test_a_single_rank_sends_nothing(sent):
    assert not sent("deepseek-r1")


def test_experts_of_a_tensor_parallel_group_leave_partial_sums(sent):
    # Routed and shared experts are added in one sum.
    for ep in (1, 8):
        assert sent("deepseek-r1", tp=8, ep=ep) == {Message("all_reduce", "tp", 8, 2 * 7168): 122}


def test_routed_experts_on_a_latent_are_summed_there(sent):
    found = sent("kimi-k3", tp=8)
    assert found[Message("all_reduce", "tp", 8, 2 * 3584)] == 92
    assert found[Message("all_reduce", "tp", 8, 2 * 7168)] == 93 + 93


def test_tokens_travel_to_experts_and_back(sent):
    # 58 layers with experts; a token goes to 8 of 256 experts, each on a rank of its own.
    assert sent("deepseek-r1", dp=32, ep=32) == {Message("all_to_all", "ep", 32, 2 * 7168 * 8): 2 * 58}
    # On 4 ranks it can only go to 4.
    assert sent("deepseek-r1", dp=4, ep=4) == {Message("all_to_all", "ep", 4, 2 * 7168 * 4): 2 * 58}


def test_tokens_are_gathered_where_every_rank_has_a_slice_of_every_expert(sent):
    found = sent("deepseek-r1", dp=8)
    assert found == {
        Message("all_gather", "ep", 8, 2 * 7168 * 8): 58,
        Message("reduce_scatter", "ep", 8, 2 * 7168 * 8): 58,
    }


def test_ranks_that_share_a_context_exchange_queries_and_results(sent):
    found = sent("deepseek-r1", tp=8, dcp=8)
    assert found[Message("all_gather", "dcp", 8, 2 * 128 * 576, "decode")] == 61
    assert found[Message("reduce_scatter", "dcp", 8, 2 * 128 * 512, "decode")] == 61


def test_divided_tables(catalogue):
    model = build_architecture(catalogue.model("llama-3.1-8b").config)
    sharding = Sharding(tp=8)
    assert weight_messages(model.embedding[0].tensors(), sharding) == (Message("all_reduce", "tp", 8, 8192),)
    assert weight_messages(model.head[-1].tensors(), sharding) == (
        Message("all_gather", "tp", 8, 2 * 128_256, "sampled"),
    )


def test_stages_pass_on_the_residual_stream():
    assert stage_message(4096, Sharding()) is None
    assert stage_message(4096, Sharding(pp=4)) == Message("send", "pp", 4, 8192)
