"""Which rows a run is looked for among: never so few that the same run is not found."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.measurement.same_run import LATENCIES, Shortlist, same_run

SET_UP = {"model": "m", "gpu": "h200", "n_gpus": "8", "concurrency": "4"}
LATENCY = st.floats(1e-4, 1e7)
ROW = st.dictionaries(st.sampled_from(LATENCIES), LATENCY, max_size=4)


def written(latencies: dict[str, float], digits: int) -> dict[str, str]:
    return {**SET_UP, "output_tps_total": "100", **{name: f"{x:.{digits}g}" for name, x in latencies.items()}}


@given(ROW, st.sets(st.sampled_from(LATENCIES)), st.integers(2, 12), st.floats(-0.0051, 0.0051))
def test_a_run_that_is_the_same_is_always_among_those_near_it(latencies, left_out, digits, off) -> None:
    row = written(latencies, 12)
    moved = {name: x + off * (1e-3 if name == "e2e_s_median" else 1) for name, x in latencies.items()}
    other = written({name: x for name, x in moved.items() if name not in left_out and x > 0}, digits)
    rows = Shortlist()
    rows.add(other, "there")
    if same_run(row, other):
        assert ("there", other) in list(rows.near(row))


def test_few_of_many_runs_are_near_one() -> None:
    rows = Shortlist()
    for step in range(1000):
        rows.add(written({"ttft_ms_median": 100 * 1.01**step, "tpot_ms_median": 10.0}, 12), step)
    near = [where for where, _ in rows.near(written({"ttft_ms_median": 100 * 1.01**500}, 12))]
    assert 500 in near
    assert len(near) <= 5


def test_formats_that_take_the_rate_over_other_spans_tell_of_one_run() -> None:
    """A run of which requests failed: 24.83 tok/s over those that ended, 14.65 over all of it."""
    six = dict(zip(LATENCIES, (10645.54, 13068.23, 10328.88, 19.46, 20.27, 19.454), strict=False))
    one, other = written(six, 12), {**written(six, 12), "output_tps_total": "172"}
    assert same_run(one, other)
    assert same_run({**one, "output_tps_total": "101.1"}, {**written(dict(list(six.items())[:3]), 12)})
    assert not same_run(written(dict(list(six.items())[:3]), 12), other)
    assert not same_run(one, {**other, "ttft_ms_median": "10650"})
