"""How the dashboard holds up: a cold server, what moves on each page, and many sessions at once.

python benchmarks/dashboard_load.py [SESSIONS [MOVES]]

The sessions speak streamlit's own protocol over loopback: each opens the first screen, and then moves a
price again and again, each to values of its own, so that no answer is in the cache. Then one session opens
every page that answers, the first time for this server, and moves its price and its sliders. Times run from
the request until the sentence of the answer is there, and until the page is complete. It fails on any error
that a page shows.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.util import calc_hash

from planner.cli.ui import flags

PORT = 8649
ADDRESS = f"127.0.0.1:{PORT}"
SENTENCE = re.compile(r"#### .*take")
PRICE = ", USD per GPU-hour"
LARGEST_MESSAGE = 64 * 2**20
PLANNED = "model=llama-3.1-8b&gpu=h100-sxm&isl=1000&osl=100&request_rate=2&slo_ttft_s=2&price=h100-sxm%3D2"
ASKING = {"": "", "fit": "", "compare": "", "frontier": "", "cost": "", "plan": PLANNED}
"""Pages that answer, with the link that they are opened by."""
PLACES = 5
"""Of a slider that are tried."""


@dataclass
class Session:
    """One browser's connection, without the browser."""

    number: int
    page: str = ""
    link: str = ""
    errors: list[str] = field(default_factory=list)
    price_id: str = ""
    sliders: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    """By label: the id and the places."""

    async def run(
        self, moves: int, firsts: list[tuple[float, float]], later: list[tuple[float, float]]
    ) -> None:
        async with websockets.connect(
            f"ws://{ADDRESS}/_stcore/stream", subprotocols=["streamlit"], max_size=LARGEST_MESSAGE
        ) as socket:
            firsts.append(await self.asked(socket, None))
            for move in range(moves):
                later.append(await self.asked(socket, 2.0 + 0.001 * (self.number * moves + move)))

    async def asked(self, socket: websockets.ClientConnection, price: float | None) -> tuple[float, float]:
        """Return the seconds until the sentence is there, and until the page is complete."""
        return await self.answered(socket, None if price is None else (self.price_id, price))

    async def answered(
        self, socket: websockets.ClientConnection, moved: tuple[str, float | str] | None
    ) -> tuple[float, float]:
        """Return the same after a control has been moved."""
        question = BackMsg()
        question.rerun_script.query_string = self.link
        if self.page:
            question.rerun_script.page_script_hash = calc_hash(self.page)
        if moved is not None:
            state = question.rerun_script.widget_states.widgets.add()
            state.id = moved[0]
            if isinstance(moved[1], float):
                state.double_value = moved[1]
            else:
                state.string_array_value.data.append(moved[1])
        started, sentence = time.perf_counter(), 0.0
        await socket.send(question.SerializeToString())
        async for raw in socket:
            message = ForwardMsg.FromString(raw)
            kind = message.WhichOneof("type")
            if kind == "delta" and self.seen(message.delta.new_element) and not sentence:
                sentence = time.perf_counter() - started
            if kind == "script_finished":
                return sentence, time.perf_counter() - started
        raise ConnectionError("the server hung up")

    def seen(self, element) -> bool:
        """Note what an element says; return whether it is the sentence of the answer."""
        kind = element.WhichOneof("type")
        if kind == "exception" or (kind == "alert" and element.alert.format == element.alert.ERROR):
            self.errors.append(str(element)[:200])
        if kind == "number_input" and element.number_input.label.endswith(PRICE):
            self.price_id = self.price_id or element.number_input.id
        if kind == "slider":
            self.sliders[element.slider.label] = (element.slider.id, list(element.slider.options))
        return kind == "markdown" and SENTENCE.match(element.markdown.body) is not None


def served() -> subprocess.Popen:
    """Start a cold server and wait until it listens."""
    words = [sys.executable, "-m", "planner.dashboard.serve", *flags(PORT, "127.0.0.1", browser=False)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://{ADDRESS}/_stcore/health", timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return process
    process.terminate()
    raise SystemExit("the server did not start")


def told(what: str, times: list[tuple[float, float]], *, whole_alone: bool = False) -> None:
    """Print the median and the worst of some answers."""
    for part, place in (("sentence", 0), ("whole page", 1))[whole_alone:]:
        ordered = sorted(pair[place] for pair in times)
        middle, last = ordered[len(ordered) // 2], ordered[-1]
        print(f"{what:56} {part:10} {middle:6.2f} s median {last:6.2f} s worst of {len(ordered)}")


async def crowd(count: int, moves: int) -> list[str]:
    sessions = [Session(number) for number in range(1, count + 1)]
    firsts: list[tuple[float, float]] = []
    later: list[tuple[float, float]] = []
    await asyncio.gather(*(session.run(moves, firsts, later) for session in sessions))
    told(f"{count} session{'s' if count > 1 else ''}, first screen", firsts)
    told(f"{count} session{'s' if count > 1 else ''}, a price moved", later)
    return [error for session in sessions for error in session.errors]


async def page(name: str, link: str) -> list[str]:
    """Open a page for the first time, and move its price and its sliders."""
    session = Session(0, name, link)
    address = f"ws://{ADDRESS}/_stcore/stream"
    async with websockets.connect(address, subprotocols=["streamlit"], max_size=LARGEST_MESSAGE) as socket:
        title = name or "overview"
        told(f"{title}, opened first", [await session.answered(socket, None)], whole_alone=True)
        prices = [2.0 + 0.013 * move for move in range(PLACES)]
        moved = [await session.answered(socket, (session.price_id, price)) for price in prices]
        told(f"{title}, price", moved, whole_alone=True)
        for label, (identity, places) in list(session.sliders.items()):
            first = len(places) // 2
            tried = places[first : first + PLACES]
            moved = [await session.answered(socket, (identity, place)) for place in tried]
            told(f"{title}, {label.lower()}", moved, whole_alone=True)
    return session.errors


def main() -> None:
    count, moves = (int(word) for word in (*sys.argv[1:], *("20", "5")[len(sys.argv) - 1 :]))
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    process = served()
    try:
        errors = asyncio.run(crowd(1, 10))
        for name, link in ASKING.items():
            errors += asyncio.run(page(name, link))
        errors += asyncio.run(crowd(count, moves))
    finally:
        process.terminate()
        process.wait()
    print(f"{len(errors)} errors")
    if errors:
        raise SystemExit("\n".join(errors[:5]))


if __name__ == "__main__":
    main()
