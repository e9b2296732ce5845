"""What a browser gets first: the page with its head and guards, and everything else as it was."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import streamlit
from streamlit import config
from streamlit.web.server.app_discovery import discover_asgi_app

from planner.dashboard import entrance

ROOT = Path(__file__).parents[2]
INDEX = Path(streamlit.__file__).parent / "static" / "index.html"
PAGE = INDEX.read_bytes()


def answered(kind, parts, status=200, accept=b"text/html,*/*"):
    """Return what an application was asked, and the status, headers and body that arrive."""
    seen, sent = [], []

    async def app(scope, receive, send):
        seen.append(scope)
        headers = [(b"content-type", kind), (b"content-length", b"7"), (b"etag", b"x")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for number, part in enumerate(parts):
            more = number + 1 < len(parts)
            await send({"type": "http.response.body", "body": part, "more_body": more})

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "headers": [(b"accept", accept), (b"accept-encoding", b"gzip")]}
    asyncio.run(entrance.Entrance(app)(scope, None, send))
    body = b"".join(message.get("body", b"") for message in sent)
    return dict(seen[0]["headers"]), sent[0]["status"], dict(sent[0]["headers"]), body


def test_a_page_learns_where_its_server_is_and_may_ask_nobody_else():
    asked, status, headers, body = answered(b"text/html; charset=utf-8", [PAGE[:1500], PAGE[1500:]])
    assert status == 200
    assert b"accept-encoding" not in asked
    assert body.replace(entrance.head().encode(), b"") == PAGE
    assert body.index(b"BACKEND_BASE_URL") < body.index(b'<script type="module"')
    assert headers[b"content-length"] == str(len(body)).encode()
    assert b"etag" not in headers  # it is that of the page without its head
    assert b"default-src 'self'" in headers[b"content-security-policy"]
    assert b"http" not in headers[b"content-security-policy"]


@pytest.mark.parametrize(
    ("kind", "status"), [(b"text/javascript", 200), (b"text/html", 304), (b"text/html", 404), (b"", 200)]
)
def test_everything_else_stays_as_it_was(kind, status):
    asked, got, headers, body = answered(kind, [b"<head>1"], status, accept=b"*/*")
    assert (got, body) == (status, b"<head>1")
    assert asked[b"accept-encoding"] == b"gzip"
    assert headers[b"etag"] == b"x"


def test_what_draws_is_found_in_the_installed_frontend():
    for part in entrance.DRAWS:
        assert f'href="./static/js/{part}.' in entrance.head()


@pytest.mark.parametrize("file", ["app.py", "planner/dashboard/script.py"])
def test_streamlit_finds_the_application_in_both_entrances(file):
    found = discover_asgi_app(ROOT / file)
    assert found.is_asgi_app
    assert found.import_string == f"{Path(file).stem}:app"


@pytest.mark.parametrize(
    ("headless", "address", "opened"),
    [
        (True, "127.0.0.1", []),
        (False, "127.0.0.1", ["http://127.0.0.1:8600"]),
        (False, "0.0.0.0", ["http://localhost:8600"]),
        (False, None, ["http://localhost:8600"]),
    ],
)
def test_a_browser_is_opened_where_the_server_listens(monkeypatch, headless, address, opened):
    options = {"server.headless": headless, "server.address": address, "server.port": 8600}
    monkeypatch.setattr(config, "get_option", options.__getitem__)
    calls = []

    class Now:
        def __init__(self, _, call, args):
            calls.extend(args)

        def start(self):
            pass

    monkeypatch.setattr(entrance, "Timer", Now)

    async def run():
        async with entrance.opening(None):
            pass

    asyncio.run(run())
    assert calls == opened
