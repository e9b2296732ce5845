"""What a browser gets first: streamlit's page, told where its server is, and allowed to ask nobody else.

Streamlit's page looks for its server under the name of the page that was opened, finds nothing there, and
says so in the console; told at once, it looks in the right place. It loads the code that draws figures when
the first figure arrives; here it begins with the page itself.
"""

from __future__ import annotations

import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import streamlit
from starlette.middleware import Middleware
from streamlit import config

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

DRAWS = ("PlotlyChart", "DataFrame")
"""Parts of streamlit's frontend that pages need, by the beginning of their files."""

ONLY_HERE = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; frame-ancestors 'self'; "
    "form-action 'self'; base-uri 'self'; object-src 'none'"
)
"""No picture, script or connection of another server, whatever a page may be made to say."""

GUARDED = (
    (b"content-security-policy", ONLY_HERE.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
OUTDATED = (b"content-length", b"etag", b"last-modified")
"""Headers that describe the page as streamlit has it."""

OPEN_AFTER_S = 0.5

SCRIPT = """
window.__streamlit = {BACKEND_BASE_URL: window.location.origin};
history.pushState = (push => (state, title, url) => {
  const to = new URL(url ?? "", location.href);
  const bare = to.pathname === location.pathname && !location.search;
  return bare ? history.replaceState(state, title, url) : push(state, title, url);
})(history.pushState.bind(history));
"""
"""Where the server is; and a page that writes its scenario into a bare address takes the place of that in the
history, for whoever goes back to the bare one is sent forward again."""


def head() -> str:
    """Return what stands at the top of the page."""
    scripts = Path(streamlit.__file__).parent / "static" / "static" / "js"
    early = "".join(
        f'<link rel="modulepreload" href="./static/js/{file.name}">'
        for part in DRAWS
        for file in sorted(scripts.glob(f"{part}.*.js"))
    )
    return f"<script>{SCRIPT}</script>{early}"


class Entrance:
    """Puts the head into pages that are sent, and the guards beside them.

    Parameters
    ----------
    app : callable
        The application behind it.
    """

    def __init__(self, app: Callable[[Message, Receive, Send], Awaitable[None]]) -> None:
        self.app, self.head = app, head().encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun: Message | None = None
        body = b""

        async def changed(message: Message) -> None:
            nonlocal begun, body
            if message["type"] == "http.response.start" and _is_page(message):
                begun = message
            elif begun is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    whole = body.replace(b"<head>", b"<head>" + self.head, 1)
                    await send({**begun, "headers": list(_headers(begun, len(whole)))})
                    await send({"type": "http.response.body", "body": whole})

        await self.app({**scope, "headers": _as_text(scope["headers"])}, receive, changed)


def _as_text(asked: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request, that of a page without leave to compress what is changed here."""
    pairs = list(asked)
    page = b"text/html" in dict(pairs).get(b"accept", b"")
    return [pair for pair in pairs if not (page and pair[0] == b"accept-encoding")]


def _is_page(message: Message) -> bool:
    kind = dict(message["headers"]).get(b"content-type", b"")
    return bool(message["status"] == 200 and kind.startswith(b"text/html"))


def _headers(message: Message, length: int) -> Iterator[tuple[bytes, bytes]]:
    yield from (pair for pair in message["headers"] if pair[0] not in OUTDATED)
    yield b"content-length", str(length).encode()
    yield from GUARDED


@asynccontextmanager
async def opening(_: object) -> AsyncIterator[None]:
    """Open a browser once the server listens, unless it was started without one."""
    if not config.get_option("server.headless"):
        host = config.get_option("server.address") or "localhost"
        url = f"http://{'localhost' if host == '0.0.0.0' else host}:{config.get_option('server.port')}"
        Timer(OPEN_AFTER_S, webbrowser.open, (url,)).start()
    yield


MIDDLEWARE = (Middleware(Entrance),)
