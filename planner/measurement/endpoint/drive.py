"""Sending the requests of a point: so many at once, or each at its time."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter

from planner.measurement.endpoint.client import Call, Client
from planner.measurement.endpoint.records import Outcome
from planner.measurement.endpoint.schedule import Schedule

AHEAD_BYTES = 1 << 28
"""Of requests that are made before the first is sent: the clock should not see the time this takes."""

LEAST_AHEAD = 64
BYTES_A_TOKEN = 8

SWITCH_S = 0.0005
"""How long the thread that writes may keep the clock waiting; Python's own is 5 ms."""

Make = Callable[[int], Call]
Heard = Callable[[Outcome], None]


async def drive(client: Client, asked: Schedule, make: Make, heard: Heard) -> None:
    """Send every request of a point and wait for the answers.

    Parameters
    ----------
    client : Client
        Sends.
    asked : Schedule
        The requests.
    make : callable
        From the number of a request to the request; called ahead of its time, in a thread.
    heard : callable
        Called with each outcome as it comes.
    """
    users = asked.concurrency or LEAST_AHEAD
    size = BYTES_A_TOKEN * max(asked.isl)
    ahead = min(len(asked), max(users, AHEAD_BYTES // size))
    ready: asyncio.Queue[Call] = asyncio.Queue(maxsize=ahead)
    for number in range(ahead):
        ready.put_nowait(make(number))
        await asyncio.sleep(0)
    maker = asyncio.create_task(_fill(ready, range(ahead, len(asked)), make))
    try:
        with _undisturbed():
            if asked.planned_s is None:
                await _closed(client, ready, len(asked), users, heard)
            else:
                await _open(client, ready, len(asked), heard)
        await maker
    finally:
        maker.cancel()


async def _fill(ready: asyncio.Queue[Call], numbers: Iterable[int], make: Make) -> None:
    for number in numbers:
        await ready.put(await asyncio.to_thread(make, number))


async def _closed(client: Client, ready: asyncio.Queue[Call], count: int, users: int, heard: Heard) -> None:
    left = iter(range(count))
    started = perf_counter()

    async def user() -> None:
        for _ in left:
            heard(await client.ask(await ready.get(), started))

    async with asyncio.TaskGroup() as group:
        for _ in range(min(users, count)):
            group.create_task(user())


async def _open(client: Client, ready: asyncio.Queue[Call], count: int, heard: Heard) -> None:
    started = perf_counter()

    async def send(call: Call) -> None:
        heard(await client.ask(call, started))

    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            call = await ready.get()
            assert call.planned_s is not None
            await asyncio.sleep(call.planned_s - (perf_counter() - started))
            group.create_task(send(call))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep the collector of garbage, and other threads, from holding up the clock."""
    gc.collect()
    was, switch = gc.isenabled(), sys.getswitchinterval()
    gc.disable()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(switch)
        if was:
            gc.enable()
