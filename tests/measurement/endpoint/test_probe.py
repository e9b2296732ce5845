"""What is found out about a server before it is loaded, and what is said of one that cannot be."""

import asyncio

import pytest

from planner.errors import PlannerError
from planner.measurement.endpoint.probe import Probe
from planner.measurement.endpoint.records import Endpoint
from tests.measurement.endpoint.servers import (
    DONE,
    GOOD,
    MODELS,
    answering,
    chunked,
    delta,
    reference,
    reply,
    serving,
    text,
    usage,
)


def probe(url, **options):
    endpoint = Endpoint(url=url, timeout_s=5.0, **options)

    async def asked():
        probe = Probe(endpoint, {}, "OPENAI_API_KEY", lambda said: said.replace("secret", "***"))
        try:
            return await probe.server((1,))
        finally:
            probe.http.close()

    return asyncio.run(asked())


def refused(answer, **options):
    with serving(answer) as server, pytest.raises(PlannerError) as error:
        probe(server.url, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_server_says_what_it_is():
    with serving(answering(GOOD)) as server:
        found = probe(server.url)
    assert (found.served_model, found.max_model_len, found.engine) == ("tiny", 4096, "vllm==0.20.2")
    assert found.style.kind == "ids"
    assert found.options == {
        "model": "tiny",
        "stream": True,
        "temperature": 1.0,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
        "min_tokens": 1,
    }
    assert found.notes == ()


@pytest.mark.parametrize(
    "names", [("ignore_eos",), ("min_tokens", "ignore_eos"), ("stream_options",), ("temperature",)]
)
def test_options_that_a_server_refuses_are_left_out_and_told(names):
    def posted(body):
        wrong = [name for name in names if name in body]
        return (
            reply({"error": {"message": f"unknown field {wrong[0]}"}}, "400 Bad Request") if wrong else GOOD
        )

    with serving(answering(posted)) as server:
        found = probe(server.url)
    assert not set(names) & set(found.options)
    assert all(any(name in note for note in found.notes) for name in names)


def test_a_server_that_refuses_without_reason_loses_one_option_after_another():
    def posted(body):
        return GOOD if "ignore_eos" not in body else reply({"detail": "extra inputs"}, "422 Unprocessable")

    with serving(answering(posted)) as server:
        assert "ignore_eos" not in probe(server.url).options


def test_the_limit_of_the_output_may_have_its_newer_name():
    def posted(body):
        told = "use max_completion_tokens instead"
        return reply({"error": {"message": told}}, "400 Bad Request") if "max_tokens" in body else GOOD

    with serving(answering(posted)) as server:
        assert probe(server.url, api="chat").output_name == "max_completion_tokens"


def test_words_are_counted_by_the_usage_where_ids_are_not_taken():
    def posted(body):
        prompt = body["prompt"]
        if isinstance(prompt, list):
            return reply({"error": {"message": "text only"}}, "400 Bad Request")
        counted = usage(prompt_tokens=4 + 2 * len(prompt.split()), completion_tokens=2)
        return chunked(text(), text("b", "length"), counted, DONE)

    with serving(answering(posted)) as server:
        style = probe(server.url).style
    assert (style.kind, style.base_tokens, style.tokens_per_word) == ("words", 4.0, 2.0)
    assert style.units(1004) == 500


def test_a_chat_is_counted_by_tokenize_where_there_is_one():
    with reference("--ttft-ms", "1", "--itl-ms", "1") as url:
        style = probe(url, api="chat").style
    assert (style.kind, style.base_tokens, style.tokens_per_word) == ("words", 3.0, 1.0)


def test_a_server_that_counts_nothing_is_told():
    with serving(answering(chunked(text(), text("b", "length"), DONE))) as server:
        found = probe(server.url)
    assert found.style.kind == "words"
    assert "counts no tokens" in found.notes[-1]


def test_a_redirect_on_the_same_host_is_followed():
    def answer(method, path, body):
        if not path.startswith("/api"):
            return reply(b"", "308 Permanent Redirect", more=f"Location: /api{path}\r\n")
        return answering(GOOD)(method, path.removeprefix("/api"), body)

    with serving(answer) as server:
        assert probe(server.url).address.path("models") == f"{server.url}/api/v1/models"


def test_a_redirect_elsewhere_is_not_followed():
    said = refused(lambda *_: reply(b"", "302 Found", more="Location: http://other.invalid/v1\r\n"))
    assert "redirects to 'http://other.invalid/v1'; give that address" in said


def test_an_unknown_model_is_refused_with_what_is_served():
    several = {"data": [{"id": "llama-8b"}, {"id": "qwen-32b"}, {"id": 7}, "odd"]}
    said = refused(lambda *_: reply(several), served_model="lama-8b")
    assert "serves llama-8b, qwen-32b (nearest: llama-8b)" in said
    assert "choose one with --served-model" in refused(lambda *_: reply(several))
    assert "name one with --served-model" in refused(lambda *_: reply({"data": "none"}))


@pytest.mark.parametrize(
    ("posted", "said"),
    [
        (
            reply({"error": {"message": "no secret"}}, "401 Unauthorized"),
            "environment variable OPENAI_API_KEY",
        ),
        (reply({"error": {"message": "broken"}}, "500 Internal Server Error"), "(http-500): broken"),
        (reply({"detail": "Not Found"}, "404 Not Found"), "try --api chat"),
        (reply({"choices": [{"text": "all"}]}), "at once"),
        (reply({"error": {"message": "too hot"}}, "400 Bad Request"), "(http-400): too hot"),
        (chunked(b"data: \xff\n\n"), "bad-stream"),
    ],
    ids=range(6),
)
def test_a_server_that_does_not_serve_a_first_request_is_refused(posted, said):
    told = refused(answering(posted))
    assert said in told
    assert "secret" not in told


def test_what_is_no_server_of_the_api_is_refused():
    assert "does not list its models" in refused(lambda *_: reply(b"<html>", kind="text/html"))
    assert "no answer of HTTP" in refused(lambda *_: b"220 smtp ready\r\nConnection: close\r\n")


def test_a_role_only_chunk_is_no_first_token():
    stream = chunked(delta(role="assistant"), delta(content="a"), delta("length", content="b"), usage(), DONE)
    with serving(answering(stream)) as server:
        assert probe(server.url, api="chat").served_model == "tiny"
    assert MODELS["data"][0]["id"] == "tiny"
