"""The notebooks run from top to bottom without a network, and what they claim is asserted in them."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)

NO_NETWORK = """\
import socket


def refused(*args, **kwargs):
    raise OSError("a notebook asked the network")


socket.create_connection = socket.getaddrinfo = refused
"""


def run(notebook, folder):
    """Execute a notebook in the checkout, with a home and measurements of nobody."""
    set_aside = {
        name: os.environ.get(name) for name in ("IPYTHONDIR", "XDG_DATA_HOME", "PLANNER_MEASUREMENTS")
    }
    os.environ.update(IPYTHONDIR=str(folder), XDG_DATA_HOME=str(folder), PLANNER_MEASUREMENTS=os.devnull)
    try:
        NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
        ).execute()
    finally:
        for name, value in set_aside.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    return notebook


@each_notebook
def test_a_notebook_runs_and_shows_tables_and_figures(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(NO_NETWORK))
    run(notebook, tmp_path)
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    kinds = {kind for output in shown for kind in output.get("data", ())}
    assert {"text/html", "application/vnd.plotly.v1+json"} <= kinds or path.stem == "calibrate"
    assert "text/html" in kinds
    assert not [output for output in shown if output.get("name") == "stderr"]


@each_notebook
def test_a_notebook_is_kept_without_results(path):
    cells = nbformat.read(path, as_version=4).cells
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]


@each_notebook
def test_a_notebook_asserts_and_goes_through_front_doors(path):
    cells = nbformat.read(path, as_version=4).cells
    trees = [ast.parse(cell.source) for cell in cells if cell.cell_type == "code"]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    assert [node for node in nodes if isinstance(node, ast.Assert)]
    imported = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    imported |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert not [name for name in imported if name.startswith("planner.")]
    assert "planner" in imported


def test_a_claim_that_is_wrong_stops_a_notebook(tmp_path):
    path = ROOT / "notebooks" / "five_minutes.ipynb"
    notebook = nbformat.read(path, as_version=4)
    (claim,) = [cell for cell in notebook.cells if cell.source.startswith("one_node = ")]
    claim.source = claim.source.replace('"b200-sxm": False', '"b200-sxm": True')
    with pytest.raises(CellExecutionError, match="AssertionError"):
        run(notebook, tmp_path)
