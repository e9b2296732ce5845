"""What servers in the world do: odd heads, odd streams, redirects, TLS, keys that are repeated."""

import gzip
import re
import ssl
import time

import pytest

from planner.cli import main
from planner.errors import InvalidInput
from planner.measurement.endpoint.address import parse_address
from tests.measurement.endpoint.certificates import self_signed
from tests.measurement.endpoint.servers import (
    DONE,
    GOOD,
    MODELS,
    answering,
    chunked,
    delta,
    event,
    reply,
    serving,
    text,
    usage,
)
from tests.measurement.endpoint.test_client import answered, ask
from tests.measurement.endpoint.test_probe import probe, refused

KEY = "sk-very-secret-0123456789"
SMALL = ("--isl", "32", "--osl", "2", "--requests", "4", "--warmup", "0", "--concurrency", "2")
EVENTS = text() + text("b", "length") + usage() + DONE


def usage_of(tokens, finish=None, said="a"):
    choice = {"index": 0, "text": said, "finish_reason": finish}
    return event({"choices": [choice], "usage": {"prompt_tokens": 8, "completion_tokens": tokens}})


STREAMS = {
    "called JSON": reply(EVENTS),
    "called JSON, in chunks": GOOD.replace(b"text/event-stream", b"application/json; charset=utf-8"),
    "of no called kind": GOOD.replace(b"Content-Type: text/event-stream\r\n", b""),
    "counted in every event": chunked(usage_of(0, said=""), usage_of(1), usage_of(2, "length"), DONE),
    "counted before the end": chunked(usage_of(2, "length", "ab"), event({"choices": [], "usage": {}}), DONE),
    "Ollama": chunked(
        delta(role="assistant", content="", reasoning="a"),
        delta("stop", role="assistant", content="b"),
        usage(),
        DONE,
    ),
    "llama.cpp": chunked(
        delta(role="assistant", content=None),
        delta(content="a"),
        delta(content="b"),
        delta("length"),
        usage(),
        DONE,
    ),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_streams_as_servers_send_them_are_read(kind):
    with serving(lambda *_: STREAMS[kind]) as server:
        outcome = ask(server.url, timeout_s=15.0)
    assert (outcome.error, outcome.detail) == (None, "")
    assert outcome.tokens == 2


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (
            reply(gzip.compress(EVENTS), kind="text/event-stream", more="Content-Encoding: gzip\r\n"),
            "protocol",
            "gzip",
        ),
        (reply({"choices": []}, kind="text/plain"), "not-streamed", "at once"),
        (
            chunked(text(), event({"object": "error", "message": "the engine is dead", "code": 500})),
            "server-error",
            "the engine is dead",
        ),
        (reply({"detail": "slow down"}, "429 Too Many", more="Retry-After: 7\r\n"), "http-429", "slow down"),
    ],
    ids=["compressed", "JSON called text", "an error as an object", "too many"],
)
def test_answers_that_are_no_stream_say_what_they_are(answer, kind, said):
    outcome = answered(answer)
    assert outcome.error == kind
    assert said in outcome.detail


def test_a_stream_that_ended_is_not_waited_for():
    with serving(lambda *_: chunked(text(), text("b", "length"), usage(), DONE, end=False)) as server:
        began = time.perf_counter()
        outcome = ask(server.url, timeout_s=15.0)
    assert (outcome.error, outcome.tokens) == (None, 2)
    assert outcome.e2e_s < 0.5
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("https://host/v1beta/openai/chat/completions", "https://host/v1beta/openai/chat/completions"),
        ("https://host/v1beta/openai/models", "https://host/v1beta/openai/chat/completions"),
        ("http://host/api/openai/v1", "http://host/api/openai/v1/chat/completions"),
        ("http://host/" + "x" * 900 + "/v1", "http://host/" + "x" * 900 + "/v1/chat/completions"),
        ("http://host/r%C3%A9sum%C3%A9/v1", "http://host/r%C3%A9sum%C3%A9/v1/chat/completions"),
    ],
)
def test_the_address_of_a_call_stands_as_it_is_given(given, asked):
    assert parse_address(given).path("chat/completions") == asked


@pytest.mark.parametrize("given", ["http://例え.jp/v1", "http://host/例え/v1"])
def test_an_address_beyond_ascii_is_refused(given):
    with pytest.raises(InvalidInput, match="write it like"):
        parse_address(given)


def test_the_path_before_the_version_is_kept():
    def answer(method, path, body):
        assert path.startswith("/api/openai/")
        return answering(GOOD)(method, path.removeprefix("/api/openai"), body)

    with serving(answer) as server:
        assert probe(f"{server.url}/api/openai/v1").served_model == "tiny"


@pytest.mark.parametrize("target", ["https://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"])
def test_a_redirect_to_another_port_is_not_followed(target):
    said = refused(lambda *_: reply(b"", "302 Found", more=f"Location: {target}\r\n"))
    assert f"redirects to '{target}'; give that address" in said


def test_a_model_that_thinks_before_it_speaks_is_given_time():
    def posted(body):
        quiet = body["max_tokens"] < 16
        return chunked(
            delta(role="assistant", content=""),
            *([] if quiet else [delta(content="a")]),
            delta("length"),
            DONE,
        )

    with serving(answering(posted)) as server:
        assert probe(server.url, api="chat").served_model == "tiny"


def test_a_key_that_a_server_repeats_anywhere_is_kept_nowhere(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    models = {"data": [{**MODELS["data"][0], "id": f"model-{KEY}"}]}
    stream = chunked(text(), text("b", f"length {KEY}"), usage(), DONE)

    def answer(method, path, body):
        if path == "/v1/models":
            return reply(models)
        return reply({"version": KEY}) if path == "/version" else stream

    with serving(answer) as server:
        words = ["measure", "endpoint", server.url, *SMALL, "--save", str(tmp_path / "run.jsonl")]
        words += ["--model", "qwen3-32b", "--gpu", "h200", "--gpus", "1"]
        with pytest.raises(SystemExit) as ended:
            main(words)
    out, err = capsys.readouterr()
    assert ended.value.code == 0, err
    assert KEY not in out + err
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY in path.read_text()]


@pytest.fixture
def secure(tmp_path):
    """Serve over TLS with a certificate of its own."""
    pem = self_signed(tmp_path / "own.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with serving(answering(GOOD)) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        yield server.url.replace("http", "https"), pem


def test_a_certificate_that_nobody_signed_is_refused_unless_it_is_named(secure, monkeypatch):
    url, pem = secure
    named = url.replace("127.0.0.1", "localhost")
    outcome = ask(named)
    assert outcome.error == "tls"
    assert re.search("self.signed certificate", outcome.detail)
    assert "SSL_CERT_FILE" in outcome.detail
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    assert ask(named).error is None
    outcome = ask(url)
    assert outcome.error == "tls"
    assert "127.0.0.1" in outcome.detail
