"""YAML as catalogues use it: plain data, every key once, no aliases, a line number for every complaint.

PyYAML composes the nodes (its C parser bounds the nesting); what they mean is decided here. Only `null`,
`true`, `false` and plain decimal numbers, with or without an exponent, are anything but text: so `no`, `on`,
`2026-11-30` and `8 TB/s` stay text and `3.35e12` is a number. Keys are always text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from planner.errors import CatalogueError

MAX_DEPTH = 40
_MAX_NUMBER_LENGTH = 40
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "true": True, "false": False}

Path = tuple[str | int, ...]

_KINDS = {
    yaml.ScalarNode: "tag:yaml.org,2002:str",
    yaml.SequenceNode: "tag:yaml.org,2002:seq",
    yaml.MappingNode: "tag:yaml.org,2002:map",
}


class _Composer(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Composes nodes without deciding what a plain scalar means."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        """Return the tag of the kind of node: plain scalars are read below, whatever they look like."""
        return _KINDS[kind]

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        """Keep no path, which only PyYAML's own resolving needs."""

    def ascend_resolver(self) -> None:
        """Keep no path."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A piece of a file's text and the line it starts on, so that errors name the file's own lines."""

    file: str
    text: str
    first_line: int = 1

    def at(self, line: int, column: int | None = None) -> str:
        """Return `file:line[:column]` for a zero-based line and column of this piece."""
        where = f"{self.file}:{self.first_line + line}"
        return where if column is None else f"{where}:{column + 1}"


def parse(piece: Slice) -> Any:
    """Turn a piece of YAML into dicts, lists and scalars.

    Parameters
    ----------
    piece : Slice
        The text and where it stands.

    Returns
    -------
    object
        The data; None for an empty document.

    Raises
    ------
    CatalogueError
        With file, line and column: broken YAML, a key given twice, an alias, a tag, a second document,
        nesting deeper than `MAX_DEPTH`, or a number too long to be one.
    """
    root = _compose(piece)
    return None if root is None else _Reader(piece).value(root, 0)


def line_of(piece: Slice, path: Path) -> int:
    """Return the line of the file on which `path` stands, or its nearest parent where it does not exist.

    Parameters
    ----------
    piece : Slice
        A piece of YAML that `parse` accepts.
    path : tuple of str and int
        Keys and indices from the piece's root.

    Returns
    -------
    int
        One-based line of the key, or of the item of a list.
    """
    node, line = _compose(piece), 0
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, child) for key, child in node.value if key.value == str(step)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = (node.value[step], node.value[step])
        else:
            found = None
        if found is None:
            break
        line, node = found[0].start_mark.line, found[1]
    return piece.first_line + line


def _compose(piece: Slice) -> Any:
    try:
        return yaml.compose(piece.text, _Composer)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = piece.at(mark.line, mark.column) if mark else piece.file
        raise CatalogueError(f"{where}: not valid YAML: {' '.join(str(error.problem).split())}") from None
    except yaml.YAMLError as error:
        raise CatalogueError(f"{piece.file}: not valid YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise CatalogueError(f"{piece.file}: nested deeper than {MAX_DEPTH} levels") from None


class _Reader:
    """Turns composed nodes into data and refuses what a catalogue may not hold."""

    def __init__(self, piece: Slice) -> None:
        self._piece = piece
        self._seen: set[int] = set()

    def value(self, node: Any, depth: int) -> Any:
        if id(node) in self._seen:
            self._refuse(node, "YAML aliases (*name) are not allowed; write the value out")
        self._seen.add(id(node))
        if node.tag not in _KINDS.values() and node.tag != "!":
            self._refuse(node, f"YAML tags are not allowed ({node.tag})")
        if isinstance(node, yaml.ScalarNode):
            return node.value if node.style else self._scalar(node)
        if depth >= MAX_DEPTH:
            self._refuse(node, f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, depth + 1) for child in node.value]
        return self._mapping(node, depth)

    def _mapping(self, node: Any, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, child in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._refuse(key, "a key must be plain text")
            if key.value in result:
                first = next(other for other, _ in node.value if other.value == key.value)
                where = self._piece.at(first.start_mark.line)
                self._refuse(key, f"key {key.value!r} is given twice; first at {where}")
            result[key.value] = self.value(child, depth + 1)
        return result

    def _scalar(self, node: Any) -> Any:
        text: str = node.value
        if text in _WORDS:
            return _WORDS[text]
        if text[0] in "0123456789+-.":
            integer = _INTEGER.fullmatch(text)
            if integer or _FLOAT.fullmatch(text):
                if len(text) > _MAX_NUMBER_LENGTH:
                    self._refuse(node, f"a number of {len(text)} characters")
                return int(text) if integer else float(text)
        return text

    def _refuse(self, node: Any, why: str) -> NoReturn:
        mark = node.start_mark
        raise CatalogueError(f"{self._piece.at(mark.line, mark.column)}: {why}")
