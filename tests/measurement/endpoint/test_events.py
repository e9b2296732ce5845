"""Events: put together however they were cut, and read for what they are."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.measurement.endpoint.events import BadStream, EventReader, Usage, read_event

STREAM = (
    b': keep-alive\r\n\r\nevent: message\r\ndata: {"a":1}\r\n\r\ndata:{"b":2}\n\nid: 7\nretry: 5\n\n'
    b"data: one\ndata: two\n\ndata: [DONE]\n\ndata: last"
)
EVENTS = [b'{"a":1}', b'{"b":2}', b"one\ntwo", b"[DONE]", b"last"]


def events(pieces):
    reader = EventReader()
    return [data for piece in pieces for data in reader.feed(piece)] + list(reader.end())


@given(st.lists(st.integers(0, len(STREAM)), max_size=30).map(sorted))
def test_events_do_not_depend_on_where_the_connection_cut_them(cuts):
    pieces = [STREAM[a:b] for a, b in zip([0, *cuts], [*cuts, len(STREAM)], strict=True)]
    assert events(pieces) == EVENTS


def test_a_line_without_end_is_refused():
    reader = EventReader()
    assert not list(reader.feed(b"x" * 1_000_000))
    with pytest.raises(BadStream, match="line of more than"):
        list(reader.feed(b"x" * 100_000))


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe\xfd", b"{", b"[1]", b"7", b'"text"', b"", b"[" * 100_000, b'{"a": \x80}'],
    ids=range(8),
)
def test_what_is_no_object_of_json_is_a_bad_stream(data):
    with pytest.raises(BadStream):
        read_event(data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "choices",
                        "delta",
                        "text",
                        "content",
                        "usage",
                        "error",
                        "finish_reason",
                        "prompt_tokens",
                        "message",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_read_or_refused(value):
    try:
        read_event(json.dumps(value).encode())
    except BadStream:
        assert not isinstance(value, dict)


def chat(finish=None, **delta):
    return json.dumps({"choices": [{"delta": delta, "finish_reason": finish}]}).encode()


def completion(text, finish=None):
    return json.dumps({"choices": [{"text": text, "finish_reason": finish}]}).encode()


@pytest.mark.parametrize(
    ("data", "token"),
    [
        (chat(role="assistant"), False),
        (chat(role="assistant", content=""), False),
        (chat(role="assistant", content=None), False),
        (chat(role="assistant", content="Hi"), True),
        (chat(content="Hi"), True),
        (chat(content=""), True),
        (chat(reasoning_content="hm"), True),
        (chat(content=None, reasoning="hm"), True),
        (chat(tool_calls=[{"index": 0}]), True),
        (chat("stop"), False),
        (chat("stop", content=""), False),
        (chat("length", content="x"), True),
        (completion("a"), True),
        (completion(""), True),
        (completion("", "stop"), False),
        (completion("a", "length"), True),
        (b'{"choices": [], "usage": {"prompt_tokens": 3}}', False),
        (b'{"choices": null}', False),
        (b"{}", False),
    ],
)
def test_which_events_carry_output(data, token):
    assert read_event(data).token is token


def test_usage_is_read_with_what_came_from_a_cache():
    counts = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}}
    assert read_event(json.dumps({"choices": [], "usage": counts}).encode()).usage == Usage(9, 4, 8)
    odd = {"prompt_tokens": -1, "completion_tokens": "4", "prompt_tokens_details": []}
    assert read_event(json.dumps({"usage": odd}).encode()).usage == Usage(None, None, None)


@pytest.mark.parametrize("error", ["full", {"message": "full"}, {"detail": "full"}])
def test_errors_within_a_stream_are_found(error):
    assert read_event(json.dumps({"error": error}).encode()).error == "full"
