"""One request against servers of every kind: what is measured, and which error it is."""

import asyncio
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.measurement.endpoint.client import Call, Client
from planner.measurement.endpoint.events import BadStream, EventReader, read_event
from planner.measurement.endpoint.http import Connection, Failed, Http
from tests.measurement.endpoint.servers import (
    DONE,
    GOOD,
    chunked,
    delta,
    event,
    reply,
    serving,
    text,
    usage,
)


def ask(url, *, osl=2, timeout_s=10.0, hide=str, times=1):
    async def asked():
        http = Http(url, {}, 5.0)
        client = Client(http, f"{url}/v1/completions", timeout_s, hide)
        outcomes = [await client.ask(Call(0, True, 8, osl, b"{}"), 0.0) for _ in range(times)]
        http.close()
        return outcomes[-1]

    return asyncio.run(asked())


def answered(answer, **options):
    with serving(lambda *_: answer) as server:
        return ask(server.url, **options)


GOOD_ONES = {
    "usual": GOOD,
    "two events in a chunk": chunked(text() + text("b", "length") + usage() + DONE),
    "an event over many chunks": chunked(
        *(bytes([byte]) for byte in text()), text("b", "length"), usage(), DONE
    ),
    "comments and empty lines": chunked(
        b": ping\n\n", text(), b"\n\n: ping\n\n", text("b", "length"), usage(), DONE
    ),
    "no [DONE]": chunked(text(), text("b", "length"), usage()),
    "no usage, no [DONE]": chunked(text(), text("b", "length")),
    "usage with the last output": chunked(
        text(),
        event({"choices": [{"text": "b", "finish_reason": "length"}], "usage": {"completion_tokens": 2}}),
        DONE,
    ),
    "to the end of the connection": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
    + text()
    + text("b", "length")
    + usage()
    + DONE,
    "HTTP/1.0 with a length": reply(text() + text("b", "length") + usage(), kind="text/event-stream").replace(
        b"HTTP/1.1", b"HTTP/1.0"
    ),
    "a first answer of 100": b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD,
    "a trailer": GOOD.replace(b"\r\n0\r\n\r\n", b"\r\n0\r\nX-Trailer: 1\r\n\r\n"),
    "an extension of a chunk": chunked(text(), text("b", "length")).replace(b"\r\ndata", b";x=1\r\ndata"),
    "a chat with its role first": chunked(
        delta(role="assistant", content=""), delta(content="a"), delta("stop", content="b"), usage(), DONE
    ),
    "reasoning": chunked(delta(reasoning_content="a"), delta("stop", content="b"), usage(), DONE),
}


@pytest.mark.parametrize("kind", GOOD_ONES)
def test_streams_that_are_whole(kind):
    outcome = answered(GOOD_ONES[kind])
    assert (outcome.error, outcome.tokens, outcome.chunks) == (None, 2, 2)
    assert 0 < outcome.ttft_s <= outcome.e2e_s
    assert len(outcome.gaps_s) == 1


def test_several_tokens_in_a_chunk_are_counted_by_usage_and_not_by_chunks():
    pieces = [text("a b c d"), text("e f g h", "length"), usage(prompt_tokens=8, completion_tokens=8), DONE]
    outcome = answered(chunked(*pieces), osl=8)
    assert (outcome.chunks, outcome.tokens, outcome.error) == (2, 8, None)
    assert outcome.tpot_s == pytest.approx((outcome.e2e_s - outcome.ttft_s) / 7)


def test_a_server_that_ignores_the_length_is_measured_as_it_is():
    outcome = answered(chunked(*[text()] * 40, text("z", "stop"), DONE), osl=2)
    assert (outcome.error, outcome.tokens, outcome.asked_osl) == (None, 41, 2)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
BAD_ONES = {
    "http-500": (
        reply({"error": {"message": "out of memory"}}, "500 Internal Server Error"),
        "out of memory",
    ),
    "http-503": (reply(b"<html>busy</html>", "503 Unavailable", "text/html"), "<html>busy</html>"),
    "http-429": (reply({"detail": "slow down"}, "429 Too Many Requests"), "slow down"),
    "http-307": (reply(b"", "307 Temporary Redirect", more="Location: /v2\r\n"), "redirects to /v2"),
    "server-error": (chunked(text(), event({"error": {"message": "aborted"}})), "aborted"),
    "not-streamed": (reply({"choices": [{"text": "all at once"}]}), "at once"),
    "no-output": (chunked(DONE), "without output"),
    "cut-off": (chunked(text(), end=False) + b"", "middle of the answer"),
    "protocol": (b"SSH-2.0-OpenSSH_9.6\r\n", "no answer of HTTP"),
}


@pytest.mark.parametrize("kind", BAD_ONES)
def test_failures_are_told_apart_by_kind(kind):
    answer, said = BAD_ONES[kind]
    closing = answer.replace(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nConnection: close\r\n")
    outcome = answered(closing if kind in ("cut-off", "protocol") else answer)
    assert outcome.error == kind
    assert said in outcome.detail


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (chunked(event(b"\xff\xfe")), "bad-stream"),
        (chunked(event(b"{not json")), "bad-stream"),
        (chunked(event(b"[1, 2]")), "bad-stream"),
        (chunked(b"data: " + b"x" * (2 << 20)), "bad-stream"),
        (HEAD + b"zz\r\n", "protocol"),
        (HEAD + b"-5\r\n", "protocol"),
        (HEAD + b"5\r\nabcdefg\r\n", "protocol"),
        (HEAD + b"1" * 5000, "protocol"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 200_000, "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "protocol"),
        (b"HTTP/1.1 20\r\n\r\n", "protocol"),
        (chunked(*[b": nothing\n\n" * 1000] * 2000), "endless"),
        (chunked(*[text()] * 1100), "endless"),
    ],
    ids=range(13),
)
def test_hostile_answers_are_errors_of_one_request(answer, kind):
    assert answered(answer).error == kind


def test_a_stream_without_end_is_cut():
    def forever():
        yield HEAD
        piece = text()
        while True:
            yield b"%x\r\n%b\r\n" % (len(piece), piece)

    with serving(lambda *_: forever()) as server:
        outcome = ask(server.url)
    assert outcome.error == "endless"
    assert outcome.chunks <= 2 + 1024


def test_a_server_that_hangs_is_a_timeout_and_keeps_what_came():
    with serving(lambda *_: None) as server:
        outcome = ask(server.url, timeout_s=0.3)
    assert (outcome.error, outcome.ttft_s) == ("timeout", None)


def test_nothing_that_answers_and_no_such_name():
    assert ask("http://127.0.0.1:1").error == "connect"
    assert ask("http://no-such-host.invalid").error == "name"


def test_a_server_without_tls_is_told():
    with serving(lambda *_: GOOD) as server:
        outcome = ask(server.url.replace("http", "https"), timeout_s=2.0)
    assert outcome.error in ("tls", "timeout")


def test_a_connection_is_used_again_and_replaced_where_the_server_closed_it():
    with serving(lambda *_: GOOD) as server:
        assert ask(server.url, times=3).error is None
        assert len(server.heard) == 3
    closing = GOOD.replace(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nConnection: close\r\n")
    assert answered(closing, times=3).error is None


def test_secrets_that_a_server_repeats_are_hidden():
    answer = reply({"error": {"message": "bad key sk-12345"}}, "401 Unauthorized")
    outcome = answered(answer, hide=lambda said: said.replace("sk-12345", "***"))
    assert outcome.detail == "bad key ***"


class Transport:
    """Takes requests and sends nothing."""

    def write(self, data):
        pass

    def abort(self):
        pass


class Ears:
    """Hears an answer as the client does."""

    def __init__(self):
        self.reader = EventReader()

    def head(self, status, fields):
        pass

    def piece(self, data, now):
        for found in self.reader.feed(data):
            read_event(found)


@given(st.data())
def test_mutated_answers_end_well_or_are_refused(data):
    answer = bytearray(data.draw(st.sampled_from(list(GOOD_ONES.values()))))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(answer) - 1))
        answer[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    cut = data.draw(st.integers(0, len(answer)))

    async def played():
        connection = Connection()
        connection.connection_made(Transport())
        exchange = asyncio.create_task(connection.exchange(b"", Ears()))
        await asyncio.sleep(0)
        for piece in (answer[:cut], answer[cut:]):
            connection.data_received(bytes(piece))
        connection.connection_lost(None)
        with contextlib.suppress(Failed, BadStream):
            await exchange

    asyncio.run(played())
