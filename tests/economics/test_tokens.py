"""What output tokens cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.economics.tokens import tokens_per_usd, usd_per_million_tokens
from planner.errors import InvalidInput


def test_worked_by_hand():
    # 8 GPUs at 2.50 USD/h are 20 USD/h; 1,000 tok/s are 3.6 M tokens an hour.
    asked = {"output_tokens_per_s": 1000.0, "gpus": 8, "usd_per_gpu_hour": 2.5}
    assert tokens_per_usd(**asked) == pytest.approx(180_000)
    assert usd_per_million_tokens(**asked) == pytest.approx(20 / 3.6)


@given(rate=st.floats(1e-3, 1e6), gpus=st.integers(1, 4096), usd=st.floats(0.01, 1000))
def test_a_million_tokens_at_their_price_is_a_million_tokens(rate, gpus, usd):
    asked = {"output_tokens_per_s": rate, "gpus": gpus, "usd_per_gpu_hour": usd}
    assert tokens_per_usd(**asked) * usd_per_million_tokens(**asked) == pytest.approx(1e6)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_no_rate_has_no_cost(rate):
    with pytest.raises(InvalidInput):
        usd_per_million_tokens(output_tokens_per_s=rate, gpus=8, usd_per_gpu_hour=2.5)
