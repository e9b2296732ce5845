"""What a page answers is what the command line that it shows answers, number by number."""

from __future__ import annotations

import contextlib
import io
import json
import shlex

import pytest

from planner.cli.entry import run
from tests.dashboard.reading import answers, said

GRID = [
    {},
    {"model": "llama-3.1-8b", "gpu": "h100-sxm,mi300x", "isl": "1000", "osl": "200", "tp": "1"},
    {"model": "gpt-oss-120b", "gpu": "mi355x,b200-sxm", "isl": "1024", "osl": "1024", "concurrency": "32",
     "price": "mi355x=2,b200-sxm=3.3"},
    {"model": "deepseek-r1", "gpu": "h200-sxm,mi355x", "isl": "8192", "osl": "1024", "engine": "sglang",
     "kv_dtype": "fp8", "context": "16384", "price": "h200-sxm=2.4,mi355x=2.5", "utilisation": "0.5"},
    {"model": "llama-3.1-8b", "gpu": "l40s,h100-sxm", "isl": "500", "osl": "100", "request_rate": "1",
     "slo_ttft_s": "3"},
    {"model": "kimi-k3", "gpu": "l4", "isl": "1024", "osl": "400", "gpus": "8"},
]  # fmt: skip


def printed(command):
    """Return the exit code of a command line and the JSON that it prints."""
    words = shlex.split(command)
    assert words[0] == "planner"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run([*words[1:], "--json"])
    return code, json.loads(out.getvalue())


@pytest.mark.parametrize("scenario", GRID, ids=lambda scenario: scenario.get("model", "worked example"))
@pytest.mark.parametrize("name", ["overview", "fit", "compare", "frontier", "cost", "plan"])
def test_a_page_has_the_numbers_of_its_command_line(opened, offered, name, scenario):
    page = opened(name, **scenario)
    assert not page.exception
    shown = answers(offered)
    assert shown or page.error or page.info or name == "cost"
    for answer in shown:
        command = answer["reproduction"]["command"]
        assert command in said(page).replace("\\", "")
        code, again = printed(command)
        assert code in (0, 3, 4)
        assert again == answer
