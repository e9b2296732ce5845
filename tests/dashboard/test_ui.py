"""The server is local, says nothing to anybody and takes little."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from planner.cli import ui
from planner.cli.entry import run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def started(monkeypatch):
    calls = []
    monkeypatch.setattr(os, "execv", lambda program, words: calls.append((program, words)))
    return calls


def test_it_becomes_a_server_for_this_machine_alone(started):
    assert run(["ui", "--port", "8600", "--no-browser"]) == 0
    [(program, words)] = started
    assert program == sys.executable
    assert words[1:4] == ["-P", "-m", "planner.dashboard.serve"]
    assert {
        "--server.address=127.0.0.1",
        "--server.allowedHosts=127.0.0.1",
        "--server.port=8600",
        "--server.headless=true",
        "--browser.gatherUsageStats=false",
        "--client.showErrorDetails=none",
    } <= set(words)


def test_others_are_let_in_only_when_asked_to(started):
    assert run(["ui", "--address", "0.0.0.0"]) == 0
    words = started[0][1]
    assert "--server.address=0.0.0.0" in words
    assert not [word for word in words if word.startswith("--server.allowedHosts")]


def test_without_streamlit_it_names_the_extra(started, monkeypatch, capsys):
    monkeypatch.setattr(ui, "find_spec", lambda name: None)
    assert run(["ui"]) == 2
    assert "pip install 'accelerator-planner[dashboard]'" in capsys.readouterr().err
    assert not started


def test_the_settings_of_the_checkout_are_those_of_the_command():
    held = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    flat = {f"{part}.{name}": value for part, values in held.items() for name, value in values.items()}
    hosts, address = flat.pop("server.allowedHosts"), flat.pop("server.address")
    assert (tuple(hosts), address) == (ui.LOCAL_NAMES, ui.LOCAL)
    assert {name: str(value).lower() for name, value in flat.items()} == ui.SETTINGS
    streamlit_knows(flat)


def streamlit_knows(names):
    from streamlit import config

    assert set(names) <= set(config.get_config_options())


def container():
    """Return the lines of the container file, those that go on joined."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line and not line.startswith("#")]


def words_after(lines, start):
    (line,) = [line for line in lines if line.startswith(start)]
    return json.loads(line[line.index("[") :])


def test_the_container_serves_without_rights_and_to_the_machine_alone():
    import yaml

    service = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["planner"]
    assert (ROOT / service["build"]["dockerfile"]).is_file()
    assert all(port == f"127.0.0.1:{ui.PORT}:{ui.PORT}" for port in service["ports"])
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert "USER planner" in container()
    assert f"EXPOSE {ui.PORT}" in container()


def test_the_command_of_the_container_is_one_of_the_package(started):
    words = words_after(container(), "CMD")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert words[0] in project["scripts"]
    assert "dashboard" in project["optional-dependencies"]
    assert any("'.[dashboard]'" in line for line in container())
    assert run(words[1:]) == 0
    ((_, served),) = started
    assert "--server.address=0.0.0.0" in served
    assert "--server.headless=true" in served


def test_the_health_check_of_the_container_tells_a_server_that_answers(monkeypatch):
    import urllib.request

    import yaml

    service = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["planner"]
    words = words_after(container(), "HEALTHCHECK")
    assert ["CMD", *words] == service["healthcheck"]["test"]
    asked = []
    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: asked.append(url))
    assert words[:2] == ["python", "-c"]
    exec(compile(words[2], "health", "exec"), {})
    assert asked == [f"http://127.0.0.1:{ui.PORT}/_stcore/health"]
