"""The server: tools over standard input and output, or over HTTP to this machine alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_process
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

import planner
from planner.mcp.answering import TOOLS, Answer, ToolText, answer
from planner.scenario.records import Scenario

NAME = "planner"
LOCAL = "127.0.0.1"
INSTRUCTIONS = (
    "Sizes the serving of language models on accelerators of AMD, NVIDIA and others: does a model fit (fit), "
    "how fast and at what cost (predict), which accelerator (compare), how many for a traffic (plan), where "
    "the cheaper of two changes (breakeven), and the commands that start it (launch); training (train, "
    "achieved) and models of pictures, videos and meshes (media). models and gpus search names. Every figure "
    "says where it comes from and how sure it is; repeat the interval with the figure."
)

SECONDS = 60.0
"""A call that takes longer is given up, and its process ended."""

AT_ONCE = 2
"""Calls that are worked on at once, each in a process of its own."""

WAITING = 16
"""Calls that may wait for one of these; more are refused."""

MOST_BODY_BYTES = 64 * 1024
MOST_SESSIONS = 32

OUTPUT = {
    "type": "object",
    "properties": {
        "sentence": {"type": "string", "description": "The answer in words."},
        "schema": {"type": "string", "description": "Which report it is, such as planner.fit/1."},
        "left_out_for_length": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["sentence"],
}


class Calls:
    """Calls of tools, each bounded in time and all of them in number.

    Parameters
    ----------
    hub : bool
        Whether models may be asked of the hub.
    seconds : float
        Longest time of a call [s].
    """

    def __init__(self, *, hub: bool = False, seconds: float = SECONDS) -> None:
        self.hub = hub
        self.seconds = seconds
        self._pending = 0
        self._limiter: anyio.CapacityLimiter | None = None

    async def answered(self, name: str, given: Mapping[str, Any]) -> Answer:
        """Answer a call in a process of its own, so that one without end can be ended."""
        if self._pending >= AT_ONCE + WAITING:
            return Answer(f"busy: {self._pending} questions are being answered; ask again later")
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(AT_ONCE)
        self._pending += 1
        try:
            with anyio.fail_after(self.seconds):
                return await anyio.to_process.run_sync(
                    answer, name, dict(given), self.hub, cancellable=True, limiter=self._limiter
                )
        except TimeoutError:
            return Answer(f"{name} took longer than {self.seconds:g} s and was given up; ask for less")
        except anyio.BrokenWorkerProcess:
            return Answer(f"{name} ended without an answer; its process ran out of memory or was ended")
        finally:
            self._pending -= 1


def make_server(calls: Calls) -> Server[Any]:
    """Return the server with its tools.

    Parameters
    ----------
    calls : Calls
        What answers.

    Returns
    -------
    Server
    """

    async def list_tools(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(name, tool, calls.hub) for name, tool in TOOLS.items()])

    async def call_tool(_: Any, params: CallToolRequestParams) -> CallToolResult:
        said = await calls.answered(params.name, params.arguments or {})
        if said.record is None:
            return CallToolResult(content=[TextContent(type="text", text=said.text)], is_error=True)
        whole = json.dumps(said.record, ensure_ascii=False, allow_nan=False)
        return CallToolResult(
            content=[TextContent(type="text", text=said.text), TextContent(type="text", text=whole)],
            structured_content=said.record,
        )

    return Server(
        NAME,
        version=planner.__version__,
        title="planner",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _tool(name: str, tool: ToolText, hub: bool) -> Tool:
    return Tool(
        name=name,
        title=tool.title,
        description=tool.description,
        input_schema=schema_of(tool.asked),
        output_schema=OUTPUT,
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=hub,
        ),
    )


def schema_of(asked: type[Scenario]) -> dict[str, Any]:
    """Return the schema of a tool's arguments, short: a client reads all of them before its first question.

    An argument that may be left out is not said to be null too, though null is taken.
    """
    found = asked.model_json_schema()
    found["properties"] = {k: v for k, v in found["properties"].items() if v.get("type") != "null"}
    for field in found["properties"].values():
        choices = [one for one in field.get("anyOf", ()) if one != {"type": "null"}]
        if len(choices) == 1:
            del field["anyOf"]
            field |= choices[0]
        elif choices:
            field["anyOf"] = choices
        if field.get("default", 0) is None:
            del field["default"]
        field.pop("title", None)
    found.pop("title", None)
    return found


def serve(*, http_port: int | None, hub: bool, seconds: float) -> None:
    """Serve until the client goes away or the process is interrupted.

    Parameters
    ----------
    http_port : int or None
        Port of this machine for HTTP; standard input and output without one.
    hub : bool
        Whether models may be asked of the hub.
    seconds : float
        Longest time of a call [s].
    """
    server = make_server(Calls(hub=hub, seconds=seconds))
    if http_port is None:
        anyio.run(_stdio, server)
    else:
        anyio.run(_http, server, http_port)


async def _stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _http(server: Server[Any], port: int) -> None:
    import uvicorn

    app = http_app(server, port)
    await uvicorn.Server(uvicorn.Config(app, host=LOCAL, port=port, log_level="warning")).serve()


def http_app(server: Server[Any], port: int) -> Any:
    """Return the HTTP application, which answers only who calls this machine by its own names.

    A page of a stranger that leads a browser here is refused by its Origin, and a name that leads here
    (DNS rebinding) by its Host.
    """
    hosts = [f"{name}:{port}" for name in (LOCAL, "localhost")]
    return server.streamable_http_app(
        json_response=True,
        max_request_body_size=MOST_BODY_BYTES,
        max_sessions=MOST_SESSIONS,
        host=LOCAL,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )
