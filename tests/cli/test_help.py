"""Help: complete, with examples, the same as in the docs, and cheap."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import click
import pytest

from planner.cli.entry import cli

DOCS = Path(__file__).parents[2] / "docs"


def commands(command=cli, words=()):
    """Yield the words and the command of everything there is."""
    yield words, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from commands(command.get_command(click.Context(command), name), (*words, name))


ALL = list(commands())


def test_the_page_of_the_docs_is_what_the_commands_say():
    made = runpy.run_path(str(DOCS / "make_cli.py"))["page"]()
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == made, "run: python docs/make_cli.py"


@pytest.mark.parametrize(
    ("words", "command"), ALL, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_every_help_has_examples_that_name_existing_options(planner, words, command):
    ran = planner(*words, "--help")
    assert ran.code == 0
    assert f"Usage: planner {' '.join(words)}".strip() in ran.out
    examples = [line.split() for line in ran.out.splitlines() if line.startswith("    planner ")]
    assert examples
    known = {option for _, one in ALL for parameter in one.params for option in parameter.opts}
    for example in examples:
        assert {word for word in example if word.startswith("--")} <= known
    assert max(map(len, ran.out.splitlines())) <= 96


@pytest.mark.parametrize(
    ("words", "command"), ALL, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_every_option_is_explained(words, command):
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


def test_options_of_the_same_name_and_form_mean_the_same_everywhere():
    said = {}
    for words, command in ALL:
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.name != "out":
                # What is measured is stated, and not asked for: there each command is on its own.
                place = words if words[:1] in (("measure",), ("import",)) else ()
                form = (place, parameter.opts[0], parameter.metavar, parameter.is_flag)
                meaning = parameter.help.partition("  [needed")[0]
                assert said.setdefault(form, meaning) == meaning, words


@pytest.mark.parametrize("name", ["predict", "compare", "frontier", "plan"])
def test_lengths_are_marked_where_they_are_needed(planner, name):
    lines = " ".join(planner(name, "--help").out.split())
    assert "Input tokens of a request. [needed" in lines
    assert "Output tokens of a request. [needed" in lines
    assert "Input tokens of a request. [needed" not in " ".join(planner("fit", "--help").out.split())


def loaded(*words):
    """Return the top-level modules that a command line leaves imported in a fresh process."""
    program = (
        "import sys; from planner.cli.entry import run; sys.stdout = open('/dev/null', 'w'); "
        f"code = run({list(words)!r}); assert code == 0, code; "
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


HEAVY = {"pandas", "numpy", "scipy", "plotly", "streamlit"}


def test_help_imports_neither_data_libraries_nor_the_catalogue():
    modules = loaded("--help")
    assert not modules & {*HEAVY, "pydantic", "yaml", "rich"}
    assert "click" in modules


def test_fit_imports_no_data_library():
    assert not loaded("fit", "--model", "kimi-k3", "--gpu", "b200") & HEAVY


def test_importing_planner_is_cheap():
    program = "import sys, planner; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"click", "pydantic", "yaml", "rich"} & {
        name.partition(".")[0] for name in done.stdout.split()
    }


def test_the_version_is_printed(planner):
    assert planner("--version").out.startswith("planner ")
