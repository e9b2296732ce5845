"""Data flows one way: a room imports only from the rooms above it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "planner"

# From top to bottom; a room may import from itself and from those before it.
ROOMS = [
    "distribution",
    "errors",
    "units",
    "catalogue",
    "architecture",
    "scenario",
    "memory",
    "performance",
    "economics",
    "planning",
    "serving",
    "measurement",
    "report",
    "api",
    "mcp",
    "cli",
    "dashboard",
    "__main__",
]

# Third-party packages that a room may import; none elsewhere.
ALLOWED = {
    "catalogue": {"pydantic", "yaml", "huggingface_hub"},
    "scenario": {"pydantic"},
    "performance": {"numpy", "pandas"},
    "economics": {"numpy", "pydantic"},
    "planning": {"numpy", "pydantic", "scipy"},
    "serving": {"pydantic", "yaml"},
    "measurement": {"pandas", "numpy", "scipy", "pydantic"},
    "report": {"numpy", "pandas", "plotly", "pyarrow", "rich"},
    "mcp": {"anyio", "mcp", "pydantic", "uvicorn"},
    "cli": {"click", "distributed", "rich", "yaml"},
    "dashboard": {"pandas", "plotly", "starlette", "streamlit"},
}


def imported_modules(source: str) -> set[str]:
    """Return the dotted names that a module imports, at any depth of the file."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room_of(module: str) -> str | None:
    """Return the room of a module of planner, or None for `planner` itself and other packages."""
    parts = module.split(".")
    return parts[1] if parts[0] == "planner" and len(parts) > 1 and parts[1] in ROOMS else None


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_above(path):
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert room in ROOMS, f"{room} is no room of the design"
    above = ROOMS[: ROOMS.index(room) + 1]
    for module in imported_modules(path.read_text()):
        imported = room_of(module)
        assert imported is None or imported in above, f"{path.name} imports {module} from below"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_the_packages_of_its_room(path):
    import sys

    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    packages = {module.split(".")[0] for module in imported_modules(path.read_text())}
    foreign = packages - set(sys.stdlib_module_names) - {"planner"}
    assert foreign <= ALLOWED.get(room, set())


def test_the_check_itself_sees_an_import_from_below():
    assert imported_modules("def f():\n    from planner.cli import main") == {"planner.cli.main"}
    assert room_of("planner.cli.main") == "cli"


def test_no_file_is_longer_than_a_reader_can_hold():
    long = {path.name: n for path in FILES if (n := len(path.read_text().splitlines())) > 450}
    assert not long
