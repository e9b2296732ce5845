"""A run: probe the server, measure point after point, keep every answer, and end cleanly when interrupted."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import process_time
from typing import Any

from planner.errors import InvalidInput
from planner.measurement.endpoint.client import Client
from planner.measurement.endpoint.drive import drive
from planner.measurement.endpoint.journal import SCHEMA, Journal, Kept
from planner.measurement.endpoint.probe import Probe, Server, check_length
from planner.measurement.endpoint.records import Endpoint, EndpointLoad, Outcome
from planner.measurement.endpoint.schedule import Calls, Schedule, longest, open_trace, schedule

KEY_ENVIRONMENT = "OPENAI_API_KEY"
HIDDEN = "***"

Progress = Callable[[int, int, str], None]


@dataclass(slots=True)
class Point:
    """What was heard at one point.

    Parameters
    ----------
    concurrency : int or None
        Users of a closed loop; None in an open one.
    outcomes : list of Outcome
        As they came.
    ended : bool
        Whether all of its requests were sent and answered.
    """

    concurrency: int | None
    outcomes: list[Outcome] = field(default_factory=list)
    ended: bool = False


@dataclass(slots=True)
class Measured:
    """A run, whole or as far as it went.

    Parameters
    ----------
    endpoint, load : Endpoint, EndpointLoad
        What was asked.
    facts : dict
        What the user says of the deployment.
    server : dict
        What the server was.
    points : list of Point
        Those that were begun.
    path : Path
        The file of the run.
    interrupted : bool
        Whether it was stopped.
    busy_share : float
        Largest share of one core that this process used during a point measured now; 0 without one.
    """

    endpoint: Endpoint
    load: EndpointLoad
    facts: dict[str, Any]
    server: dict[str, Any]
    points: list[Point]
    path: Path
    interrupted: bool = False
    busy_share: float = 0.0


def read_key(name: str | None) -> tuple[str | None, str]:
    """Return the API key, and the environment variable it is read from.

    Parameters
    ----------
    name : str or None
        The variable; without one OPENAI_API_KEY, which need not be set.

    Returns
    -------
    key, name

    Raises
    ------
    InvalidInput
        When the variable that was named is not set, or what it holds is no key.
    """
    variable = name or KEY_ENVIRONMENT
    key = os.environ.get(variable, "").strip()
    if name is not None and not key:
        raise InvalidInput(f"--api-key-env {name}: the environment has no such variable, or it is empty")
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput(f"what the environment variable {variable} holds is no key: it has odd characters")
    return key or None, variable


def measure_endpoint(
    endpoint: Endpoint,
    load: EndpointLoad,
    *,
    save: Path,
    kept: Kept | None = None,
    facts: dict[str, Any] | None = None,
    api_key_env: str | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Load an endpoint and note what each request took.

    Parameters
    ----------
    endpoint : Endpoint
        The server.
    load : EndpointLoad
        The load.
    save : path
        The file that holds every answer as soon as it is there. A new one, but for `kept`.
    kept : Kept, optional
        What the file holds of a run that was interrupted: its points that ended are not measured again.
    facts : dict, optional
        What is known of the deployment; it is kept with the run.
    api_key_env : str, optional
        The environment variable of the API key, by default OPENAI_API_KEY. The key itself is never kept.
    progress : callable, optional
        Called with the requests answered, all of them, and the name of the point.

    Returns
    -------
    Measured
        Also of a run that Ctrl-C stopped, with what it has.

    Raises
    ------
    PlannerError
        With one line that says what is wrong.
    """
    key, key_name = read_key(api_key_env)
    run = _Run(endpoint, load, save, kept, facts or {}, key, key_name, progress)
    try:
        asyncio.run(run.go())
    except KeyboardInterrupt:
        run.measured.interrupted = True
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    finally:
        run.close()
    return run.measured


class _Run:
    def __init__(
        self,
        endpoint: Endpoint,
        load: EndpointLoad,
        save: Path,
        kept: Kept | None,
        facts: dict[str, Any],
        key: str | None,
        key_name: str,
        progress: Progress | None,
    ) -> None:
        self._key, self._key_name = key, key_name
        self._kept = kept
        self._progress = progress
        self._journal: Journal | None = None
        trace = open_trace(load)
        self._schedules = [schedule(load, trace, point) for point in range(len(load.points))]
        self.measured = Measured(endpoint, load, facts, {}, [], save)

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def _hide(self, text: str) -> str:
        return text.replace(self._key, HIDDEN) if self._key else text

    async def go(self) -> None:
        endpoint, load = self.measured.endpoint, self.measured.load
        _allow_many_connections()
        fields = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        fields["Accept-Encoding"] = "identity"
        if self._key:
            fields["Authorization"] = f"Bearer {self._key}"
        seed = (load.seed, secrets.randbits(62))
        probe = Probe(endpoint, fields, self._key_name, self._hide)
        server = await probe.server(seed)
        for asked in self._schedules:
            check_length(server, *longest(asked))
        self.measured.server = _facts_of(server)
        journal = self._open_journal()
        api = "completions" if endpoint.api == "completions" else "chat/completions"
        client = Client(probe.http, server.address.path(api), endpoint.timeout_s, self._hide)
        for number, asked in enumerate(self._schedules):
            if self._kept is not None and number in self._kept.ended:
                outcomes = self._kept.points[number]
                self.measured.points.append(Point(load.points[number], outcomes, ended=True))
                continue
            calls = Calls(asked, endpoint, server, load.prefix_hit, (*seed, number))
            await self._point(number, asked, client, calls, journal)

    def _open_journal(self) -> Journal:
        """Open the file of the run; nothing is left behind by a run that the server refuses at once."""
        measured = self.measured
        if self._kept is not None:
            # A last line that was cut off goes, so that the next does not run on from it.
            os.truncate(measured.path, self._kept.whole_bytes)
        journal = Journal(measured.path, new=self._kept is None)
        self._journal = journal
        if self._kept is None:
            load = measured.load.model_dump(mode="json")
            endpoint = measured.endpoint.model_dump(mode="json")
            journal.add({"schema": SCHEMA, "endpoint": endpoint, "load": load, "facts": measured.facts})
        journal.add({"kind": "server", "server": measured.server})
        return journal

    async def _point(
        self, number: int, asked: Schedule, client: Client, calls: Calls, journal: Journal
    ) -> None:
        point = Point(asked.concurrency)
        self.measured.points.append(point)
        journal.add({"kind": "begin", "point": number})
        name = "open loop" if asked.concurrency is None else f"concurrency {asked.concurrency}"

        def heard(outcome: Outcome) -> None:
            point.outcomes.append(outcome)
            journal.add({"kind": "request", "point": number, "request": outcome})
            if self._progress is not None:
                self._progress(len(point.outcomes), len(asked), name)

        loop = asyncio.get_running_loop()
        began, used = loop.time(), process_time()
        await drive(client, asked, calls.make, heard)
        share = (process_time() - used) / max(loop.time() - began, 1e-9)
        self.measured.busy_share = max(self.measured.busy_share, share)
        point.ended = True
        journal.add({"kind": "end", "point": number})


def _facts_of(server: Server) -> dict[str, Any]:
    """Return what is kept of a server."""
    return {
        "root": server.address.root,
        "served_model": server.served_model,
        "max_model_len": server.max_model_len,
        "engine": server.engine,
        "options": {name: value for name, value in server.options.items() if name != "model"},
        "prompts": asdict(server.style),
        "notes": list(server.notes),
    }


def _allow_many_connections() -> None:
    """Raise the number of open files to what the system allows; each stream is one."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
