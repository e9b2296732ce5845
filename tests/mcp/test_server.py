"""The server through the SDK's own client: in memory, over standard input and output, and over HTTP."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from starlette.testclient import TestClient

from planner.mcp import server
from planner.mcp.answering import TOOLS, Answer
from planner.mcp.server import Calls, http_app, make_server

ROOT = Path(__file__).parents[2]
QUESTION = {"model": "kimi-k3", "gpu": "b200"}


def in_memory(work, calls: Calls | None = None):
    """Run work with a client of a server in this process."""

    async def main():
        async with Client(make_server(calls or Calls())) as client:
            return await work(client)

    return anyio.run(main)


def test_the_tools_are_listed_with_typed_schemas_and_as_reading_only():
    listed = in_memory(lambda client: client.list_tools()).tools
    assert [tool.name for tool in listed] == list(TOOLS)
    for tool in listed:
        schema = tool.input_schema
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.open_world_hint is False
        assert tool.description
    fit = listed[0].input_schema
    assert fit["required"] == ["model", "gpu"]
    assert fit["properties"]["gpu"]["maxItems"] == 8


def test_a_call_is_answered_and_a_bad_one_refused_in_one_line():
    async def work(client):
        return await client.call_tool("fit", QUESTION), await client.call_tool("fit", {"model": "kimi-k3"})

    good, bad = in_memory(work)
    assert good.is_error is False
    assert good.content[0].text.startswith("Kimi K3 does not fit on one node of 8 x B200-SXM")
    assert good.structured_content["sentence"] == good.content[0].text
    assert good.structured_content["smallest_deployment"]["gpus"] == 16
    assert bad.is_error is True
    assert [one.text for one in bad.content] == ["fit needs gpu"]


def sleeper(*_: object) -> Answer:
    """Answer much too late."""
    time.sleep(60)
    return Answer("late")


def test_a_call_without_end_is_ended_and_the_next_one_answered(monkeypatch):
    monkeypatch.setattr(server, "answer", sleeper)
    calls = Calls(seconds=1.5)

    async def main():
        late = await calls.answered("fit", QUESTION)
        monkeypatch.undo()
        calls.seconds = 60
        return late, await calls.answered("gpus", {"search": "mi355x"})

    begin = time.monotonic()
    late, after = anyio.run(main)
    assert late == Answer("fit took longer than 1.5 s and was given up; ask for less")
    assert after.record["matches"] == 1
    assert time.monotonic() - begin < 50


def test_more_calls_than_can_wait_are_refused():
    calls = Calls()
    calls._pending = server.AT_ONCE + server.WAITING
    said = anyio.run(calls.answered, "fit", QUESTION)
    assert said.record is None
    assert said.text.startswith("busy: ")


def test_the_command_speaks_over_standard_input_and_output(tmp_path):
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "planner", "mcp"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
    )

    async def main():
        async with Client(stdio_client(started)) as client:
            listed = await client.list_tools()
            good = await client.call_tool("predict", {**QUESTION, "gpu": "mi355x", "isl": 1024, "osl": 400})
            bad = await client.call_tool("compare", {**QUESTION, "isl": -1, "osl": 1})
            return listed, good, bad

    listed, good, bad = anyio.run(main)
    assert [tool.name for tool in listed.tools] == list(TOOLS)
    assert good.structured_content["schema"] == "planner.predict/1"
    assert (bad.is_error, bad.content[0].text.split(":")[0]) == (True, "compare isl")


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://127.0.0.1:8765"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Host": "evil.example:8765"}, 421),
        ({"Host": "127.0.0.1"}, 421),
    ],
)
def test_over_http_only_this_machine_is_answered(headers, status):
    app = http_app(make_server(Calls()), 8765)
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        assert client.post("/mcp", json=HELLO, headers=accepted | headers).status_code == status


def test_over_http_a_large_body_is_refused():
    with TestClient(http_app(make_server(Calls()), 8765), base_url="http://127.0.0.1:8765") as client:
        accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        assert client.post("/mcp", content=b" " * 100_000, headers=accepted).status_code == 413


def test_without_the_sdk_one_line_names_the_extra(monkeypatch, capsys):
    from planner.cli.entry import run

    monkeypatch.setitem(sys.modules, "mcp.server.lowlevel", None)
    monkeypatch.delitem(sys.modules, "planner.mcp.server")
    assert run(["mcp"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pip install 'accelerator-planner[mcp]'" in said
