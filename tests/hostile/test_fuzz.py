"""A few mutations for each parser, and that the engine finds what it looks for."""

from __future__ import annotations

import os
import subprocess

import pytest
from fuzz import Target, Watch, fuzz
from fuzz_targets import targets
from mutations import DEPTH, LAUGHS, mutate

from planner.errors import InvalidInput

RUNS = 25
TARGETS = dict(targets())


@pytest.fixture(scope="module")
def watch() -> Watch:
    """Return what hears of files and processes; a hook of the interpreter stays, so that there is one."""
    return Watch()


@pytest.mark.parametrize("name", TARGETS)
def test_every_mutation_gives_an_answer_or_one_line(name, watch):
    tally = fuzz(name, TARGETS[name], RUNS, seed=7, watch=watch)
    assert tally.failures == []
    assert tally.runs == RUNS == tally.answered + tally.refused


@pytest.mark.parametrize("name", [name for name in TARGETS if name not in ("config", "launch")])
def test_the_seeds_are_read(name, tmp_path):
    # Otherwise nothing but refusals would be tested. (Some configurations need what nobody gives here.)
    target = TARGETS[name]
    for called, raw in target.seeds()[:2]:
        path = tmp_path / f"seed{target.suffix}"
        path.write_bytes(raw)
        assert target.read(path) == [], called


def test_mutations_are_the_same_for_a_seed_and_of_many_kinds():
    import random

    raw = TARGETS["fleet"].seeds()[0][1]
    first, again = ([mutate(raw, rng) for _ in range(120)] for rng in (random.Random(3), random.Random(3)))
    assert first == again
    assert len({kind for kind, _ in first}) >= 10
    texts = [mutated for _, mutated in first]
    assert any(mutated.count(b"[") >= DEPTH for mutated in texts)
    assert any(LAUGHS in mutated for mutated in texts)


def _raise() -> None:
    raise ValueError("no")


def _refuse(line: str) -> None:
    raise InvalidInput(line)


FAULTS = {
    "a traceback": lambda path: _raise(),
    "a connection": lambda path: __import__("socket").getaddrinfo and _connect(),
    "a process": lambda path: subprocess.run(["true"]) and [],
    "a file of another": lambda path: open("/etc/hostname").close() or [],
    "a file that is written": lambda path: open(f"{path}.more", "w").close() or [],
    "an empty refusal": lambda path: _refuse(" "),
    "a complaint": lambda path: ["wrong"],
}


def _connect() -> list[str]:
    import socket

    with socket.socket() as client:
        client.connect_ex(("127.0.0.1", 9))
    return []


@pytest.mark.parametrize("fault", FAULTS)
def test_the_engine_sees(fault, watch):
    assert os.path.exists("/etc/hostname")
    target = Target(lambda: [("seed", b"a: 1\n")], FAULTS[fault], strict=True)
    tally = fuzz(fault, target, 1, seed=1, watch=watch)
    assert len(tally.failures) == 1


def test_the_engine_stops_what_takes_too_long(watch, monkeypatch):
    import fuzz as engine

    monkeypatch.setattr(engine, "LONGEST_S", 0.05)

    def forever(path):
        while True:
            pass

    tally = fuzz("loop", Target(lambda: [("seed", b"a")], forever), 1, seed=1, watch=watch)
    assert "over 0 s" in tally.failures[0]
