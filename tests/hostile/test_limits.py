"""The table of limits says what the code does, and each limit holds."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

import planner
from planner.catalogue import load_catalogue
from planner.catalogue.imported import model_from_config
from planner.catalogue.yamltext import MAX_DEPTH, Slice, parse
from planner.dashboard.scenario import LONGEST_VALUE, read_link
from planner.errors import CatalogueError, InvalidInput, PlannerError
from planner.mcp.answering import answer
from planner.measurement.importers import settings, sources

DOC = Path(__file__).parents[2] / "docs" / "limits.md"
ROW = re.compile(r"\| ([^|]+) \| (\d+) ?([^|]*) \| `([a-z_.]+)\.([A-Z_]+)` \|")
ROWS = ROW.findall(DOC.read_text(encoding="utf-8"))
UNITS = {"MiB": 2**20, "KiB": 2**10}
ON = {"model": "llama-3.1-8b", "gpu": "h200", "isl": 1000, "osl": 100}


def test_the_table_is_read():
    lines = [line for line in DOC.read_text(encoding="utf-8").splitlines() if "| `planner." in line]
    assert len(ROWS) == len(lines) > 20


@pytest.mark.parametrize(("what", "number", "unit", "module", "name"), ROWS)
def test_the_table_says_what_the_code_does(what, number, unit, module, name):
    held = getattr(import_module(module), name)
    if name == "MOST_UPLOADED_MB":
        held *= 2**20
    assert held == int(number) * UNITS.get(unit, 1), what


def refused(ask) -> str:
    """Return the line with which a question is refused."""
    with pytest.raises(PlannerError) as error:
        ask()
    return str(error.value)


def test_nesting(tmp_path):
    deep = "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)
    with pytest.raises(CatalogueError, match="nested deeper than 40"):
        parse(Slice("x", deep))
    parse(Slice("x", deep[1:-1]))
    (tmp_path / "x.yaml").write_text("gpus:\n  a: " + deep)
    assert "nested" in refused(lambda: load_catalogue(extra=tmp_path / "x.yaml"))


def test_layers(tmp_path, catalogue):
    config = dict(catalogue.model("llama-3.1-8b").config)
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**config, "num_hidden_layers": 16385}))
    assert "16384" in refused(lambda: planner.fit(model=str(file), gpu="h200", catalogue=catalogue))
    file.write_text(json.dumps({**config, "num_hidden_layers": 10**30}))
    refused(lambda: planner.fit(model=str(file), gpu="h200", catalogue=catalogue))
    assert model_from_config(file).config_status == "imported"


def test_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "LONGEST_LINE", 100)
    file = tmp_path / "x.log"
    file.write_text("a\n" + "x" * 200 + "\n")
    assert ":2: a line of over" in refused(lambda: list(sources.open_source(file).lines()))


def test_a_sidecar(tmp_path):
    (tmp_path / "a.json.planner.yaml").write_text("#" * (settings.LARGEST_SIDECAR + 1))
    assert "larger than 64 KiB" in refused(lambda: settings.beside(str(tmp_path / "a.json")))


def test_accelerators_sizes_and_requests(catalogue):
    card = catalogue.gpu("h200")
    types = [card.model_copy(update={"id": f"card-{number}"}) for number in range(101)]
    assert "101 types" in refused(lambda: planner.fit(model="llama-3.1-8b", gpu=types, catalogue=catalogue))
    assert "4096" in refused(
        lambda: planner.fit(model="llama-3.1-8b", gpu="h200", tp=4097, catalogue=catalogue)
    )
    many = {**ON, "requests": 10_000_001, "concurrency": 1, "tp": 1}
    assert "10,000,000" in refused(lambda: planner.simulate(**many, catalogue=catalogue))


def test_sweeps(catalogue):
    many = {**ON, "isl": list(range(1, 60_001)), "osl": list(range(1, 1001))}
    assert "too many for memory" in refused(lambda: planner.sweep(**many, catalogue=catalogue))
    more = {**many, "concurrency": list(range(1, 1001))}
    assert "10,000,000,000" in refused(lambda: planner.sweep(**more, catalogue=catalogue))


def test_a_link(catalogue):
    _, said = read_link({"gpu": "h200," * LONGEST_VALUE, "x" * 10_000: "1"}, catalogue)
    assert "longer than 500 characters" in said[0]
    assert len(said[1]) < 1000


@pytest.mark.parametrize(
    "given",
    [
        {"gpu": ["h200"] * 9},
        {"gpu": "h200," * 401},
        {"model": "x" * 121},
        {"price": {f"gpu{number}": 1.0 for number in range(21)}},
        {"context": 10**30},
        {"tp": 4097},
        {"model": "../../etc/passwd"},
        {"model": "/etc/passwd"},
        {"model": "https://user:secret@host/x.json"},
    ],
)
def test_a_tool_call(given):
    made = answer("fit", {"model": "qwen3-8b", "gpu": "h200", **given})
    assert made.record is None
    assert len(made.text) <= 600
    assert not made.text.startswith("internal")
    assert "secret" not in made.text


def test_a_message():
    assert len(str(InvalidInput("x y " * 10**6))) <= 2010
