"""Traces of requests, good and bad: each bad one gets one line that says where it is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import InvalidInput
from planner.measurement.traces import read_trace

HEADER = "arrival_s,isl,osl"
GOOD = f"{HEADER}\n0,100,10\n0.5,200,20\n0.5,300,30\n"


def written(tmp_path: Path, content: str | bytes, name: str = "trace.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(tmp_path: Path, content: str | bytes, name: str = "trace.csv") -> str:
    with pytest.raises(InvalidInput) as caught:
        read_trace(written(tmp_path, content, name))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(tmp_path / name))
    return message


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        "\ufeff" + GOOD.replace("\n", "\r\n"),
        "Timestamp_ms,Request tokens,Response tokens,Model\n0,100,10,a\n500,200,20,b\n5e2,300.0,30,c\n",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6000000,100,10\n"
        "2023-11-16 18:15:47.1000000,200,20\n2023-11-16T18:15:47.1Z,300,30\n",
        '{"arrival_s": 0, "isl": 100, "osl": 10}\n\n{"osl": 20, "isl": 200, "arrival_s": 0.5, "ids": [1]}\r\n'
        '{"arrival_s": "0.5", "isl": 300, "osl": 30}',
    ],
    ids=["csv", "byte-order mark", "other names", "dates", "json lines"],
)
def test_the_same_requests_in_many_forms(tmp_path, content):
    trace = read_trace(written(tmp_path, content))
    assert len(trace) == 3
    np.testing.assert_allclose(trace.times(3, np.random.default_rng(0)), [0, 0.5, 0.5], atol=1e-6)
    assert trace.isl.tolist() == [100, 200, 300]
    assert trace.osl.tolist() == [10, 20, 30]


def test_a_unit_can_be_given(tmp_path):
    content = '{"timestamp": 1000, "input_length": 5, "output_length": 6}\n' * 2
    path = written(tmp_path, content, "trace.jsonl")
    assert read_trace(path, "ms").arrival_s.tolist() == [1.0, 1.0]
    assert "has no unit" in refusal(tmp_path, content, "trace.jsonl")
    with pytest.raises(InvalidInput, match="one of s, ms, us, ns"):
        read_trace(path, "hours")


@pytest.mark.parametrize(
    ("content", "where", "what"),
    [
        (b"", ":1:", "empty"),
        (b"\n \n", ":2:", "has no name"),
        (HEADER, ":1:", "no rows"),
        (f"{HEADER}\n0,1,1\n2,1,1\n1,1,1\n", ":4:", "'1' is before that of the request above; sort"),
        (f"{HEADER}\n0,1,1\n,1,1\n", ":3:", "arrival_s is missing"),
        (f"{HEADER}\n0,1,1\n1,,1\n", ":3:", "isl is missing"),
        (f"{HEADER}\nnan,1,1\n", ":2:", "neither a finite number nor a date"),
        (f"{HEADER}\ninf,1,1\n", ":2:", "neither a finite number nor a date"),
        (f"{HEADER}\n1e999,1,1\n", ":2:", "no time from 0 on"),
        (f"{HEADER}\n-1,1,1\n", ":2:", "the nearest is 0"),
        (f"{HEADER}\n0,-5,1\n", ":2:", "isl '-5' is no whole number of tokens from 1 on; the nearest is 1"),
        (f"{HEADER}\n0,5,0\n", ":2:", "osl '0' is no whole number"),
        (f"{HEADER}\n0,5,nan\n", ":2:", "osl 'nan'"),
        (f"{HEADER}\n0,5.5,1\n", ":2:", "isl '5.5'"),
        (f"{HEADER}\n0,1e30,1\n", ":2:", "isl '1e30'"),
        (f"{HEADER}\n0,1_000,1\n", ":2:", "isl '1_000'"),
        (f"{HEADER}\n0,٣,1\n", ":2:", "isl '٣'"),
        (f"{HEADER}\n0,1\n", ":2:", "2 values, but the header has 3"),
        (f"{HEADER}\n0,1,1\n2026-01-31 12:00,1,1\n", ":3:", "is a date, but the lines before have a number"),
        ("arrival_s,isl,outputtokens\n0,1,1\n", ":1:", "'outputtokens' meant"),
        ("isl,osl\n1,1\n", ":1:", "no column of arrival times"),
        ("arrival_s;isl;osl\n0;1;1\n", ":1:", "not separated by commas"),
        (f"{HEADER},isl\n0,1,1,1\n", ":1:", "named twice"),
        (GOOD.encode() + b"1,2,3\n2,\xff,4\n", ":6:", "0xff is not UTF-8"),
        (GOOD.encode("utf-16"), ":1:", "UTF-16"),
        (GOOD.encode() + b"\0", ":5:", "NUL"),
        ('{"arrival_s": 0, "isl": 1, "osl": 1}\n{"arrival_s": 1, "isl": 1}\n', ":2:", "osl is missing"),
        ('{"arrival_s": 0, "isl": true, "osl": 1}\n', ":1:", "isl is missing"),
        ('{"arrival_s": NaN, "isl": 1, "osl": 1}\n', ":1:", "neither a finite number"),
        ('{"arrival_s": 0, "isl": 1, "osl": 1}\n{"arrival_s": 0,\n', ":2:", "not valid JSON"),
        ('[{"arrival_s": 0, "isl": 1, "osl": 1}]\n', ":1:", "not a JSON object"),
        ('{"arrival_s": 0, "isl": 1, "osl": 1}\n3\n', ":2:", "not a JSON object"),
        ('{"a": ' * 100_000, ":1:", "not valid JSON"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, content, where, what):
    message = refusal(tmp_path, content)
    assert f"trace.csv{where}" in message
    assert what in message


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InvalidInput, match=r"gone\.csv: cannot be read: No such file"):
        read_trace(tmp_path / "gone.csv")


def lengths_or_refusal(path: Path) -> str | list[int]:
    try:
        return read_trace(path).isl.tolist()
    except InvalidInput as error:
        return str(error)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda t: (HEADER + "\n" + t).encode())))
def test_any_bytes_are_read_or_refused_in_one_line(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "trace"
    path.write_bytes(content)
    found = lengths_or_refusal(path)
    assert "\n" not in found if isinstance(found, str) else min(found) >= 1
