"""Catalogue files on disk: where they are, and how one entry is read without parsing the rest.

In the canonical layout every root key stands in column 0 and every entry's key at two spaces, so a scan of
the lines cuts a file into entries, each parsed when it is asked for. A file in any other layout is parsed as
a whole; what it says is the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from planner.catalogue import yamltext
from planner.catalogue.textfiles import read_bytes
from planner.catalogue.yamltext import Slice
from planner.errors import CatalogueError

MAX_FILE_BYTES = 16 * 2**20
ALIAS_FIELDS = ("aliases", "quantised_aliases")

_TOP_LINE = re.compile(r"\n( {0,2})([^ \n#][^\n]*)")
_KEY = re.compile(
    r"""(?P<key>[^\s"'\[\]{}&*!|>%@`?,:#-](?:[^\n:#]|:(?=\S))*|"[^"\\\n]*"|'[^'\n]*'):(?:\s+(?P<rest>\S.*)?)?"""
)
_ALIAS_BLOCK = re.compile(
    rf"\n    (?:{'|'.join(ALIAS_FIELDS)}):[ ]*(?P<inline>[^\n#][^\n]*)?"
    r"(?P<lines>(?:\n(?:    -|      )[^\n]*)*)"
)


def data_directory() -> Path:
    """Return the directory of the shipped catalogue: the installed package's, else the checkout's."""
    packaged = Path(str(resources.files("planner"))) / "data"
    return packaged if packaged.is_dir() else Path(__file__).resolve().parents[2] / "data"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry as its file has it, and how to find its lines again."""

    data: Any
    piece: Slice
    prefix: yamltext.Path

    def line_of(self, path: yamltext.Path) -> int:
        """Return the line of the file that a path inside the entry stands on."""
        return yamltext.line_of(self.piece, (*self.prefix, *path))


def read_text(path: Path) -> str:
    """Read a catalogue file, refusing what cannot be one before any of it is parsed."""
    raw = read_bytes(path, most_bytes=MAX_FILE_BYTES, otherwise="not a catalogue file", error=CatalogueError)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise CatalogueError(f"{path}:{line}: not UTF-8 text") from None
    if "\0" in text:
        raise CatalogueError(f"{path}: a binary file, not YAML text")
    return text.replace("\r\n", "\n")


class Document:
    """One catalogue file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = read_text(path)
        self._entries: dict[tuple[str, str], Entry] = {}

    @property
    def sha256(self) -> bytes:
        """Digest of the file's text."""
        return hashlib.sha256(self.text.encode()).digest()

    @cached_property
    def _slices(self) -> dict[str, dict[str, Slice]] | None:
        """Entries by root key, or None where the layout is not canonical."""
        return _cut(str(self.path), self.text)

    @cached_property
    def _whole(self) -> dict[str, dict[str, Any]]:
        """The whole file, parsed."""
        piece = Slice(str(self.path), self.text)
        data = yamltext.parse(piece)
        if data is None:
            raise CatalogueError(f"{self.path}: empty; expected root keys such as `gpus:` or `prices:`")
        if not isinstance(data, dict):
            raise CatalogueError(
                f"{self.path}:1: expected a mapping with root keys such as `gpus:` or `prices:`"
            )
        for root, entries in data.items():
            if not isinstance(entries, dict):
                line = yamltext.line_of(piece, (root,))
                raise CatalogueError(f"{self.path}:{line}: `{root}:` must map ids to entries")
        return data

    def roots(self) -> list[str]:
        """Return the root keys of the file."""
        return list(self._slices if self._slices is not None else self._whole)

    def ids(self, root: str) -> list[str]:
        """Return the ids under a root key, in the file's order."""
        found = (self._slices if self._slices is not None else self._whole).get(root, {})
        return list(found)

    def has(self, root: str, key: str) -> bool:
        """Return whether the file has this entry."""
        source = self._slices if self._slices is not None else self._whole
        return key in source.get(root, {})

    def line_of_root(self, root: str) -> int:
        """Return the line of a root key."""
        return yamltext.line_of(Slice(str(self.path), self.text), (root,))

    def entry(self, root: str, key: str) -> Entry:
        """Return one entry, parsing no other one where the layout allows."""
        found = self._entries.get((root, key))
        if found is None:
            found = self._entries[root, key] = self._read_entry(root, key)
        return found

    def _read_entry(self, root: str, key: str) -> Entry:
        if self._slices is not None:
            piece = self._slices[root][key]
            try:
                data = yamltext.parse(piece)
            except CatalogueError:
                # The cut may have gone through a text of several lines: only the whole file can tell.
                pass
            else:
                if isinstance(data, dict) and list(data) == [key]:
                    return Entry(data[key], piece, (key,))
            if key not in self._whole.get(root, {}):
                raise CatalogueError(f"{piece.at(0)}: text of several lines must be indented deeper")
        return Entry(self._whole[root][key], Slice(str(self.path), self.text), (root, key))

    def check(self) -> None:
        """Parse the whole file, so that nothing the cutting passed over stays unseen."""
        if self._slices is not None and _outline(self._slices) != _outline(self._whole):
            self._slices = None
            self._entries.clear()

    def aliases(self, root: str) -> Iterator[tuple[str, str]]:
        """Yield (alias, id) for every alias under a root key, without parsing the entries."""
        for key in self.ids(root):
            yield from ((alias, key) for alias in self.aliases_of(root, key))

    def aliases_of(self, root: str, key: str) -> list[str]:
        """Return the aliases of one entry, without parsing it where the layout allows."""
        if self._slices is None:
            return _aliases_of(self._whole.get(root, {}).get(key))
        piece = self._slices.get(root, {}).get(key)
        found: list[str] = []
        for match in _ALIAS_BLOCK.finditer(piece.text) if piece else ():
            names = _scan_aliases(match)
            if names is None:
                return _aliases_of(self.entry(root, key).data)
            found += names
        return found


def _cut(file: str, text: str) -> dict[str, dict[str, Slice]] | None:
    """Cut a canonical file into entries; None when a line shows that it is not canonical."""
    cut: dict[str, dict[str, Slice]] = {}
    root: str | None = None
    open_entry: tuple[str, int] | None = None
    counted, line = 0, 1

    def close(end: int) -> None:
        nonlocal counted, line
        if root is not None and open_entry is not None:
            key, start = open_entry
            line += text.count("\n", counted, start)
            counted = start
            cut[root][key] = Slice(file, text[start:end], line)

    for match in _TOP_LINE.finditer("\n" + text):
        indent, line_text = match[1], match[2]
        start = match.start()
        parsed = _KEY.fullmatch(line_text.rstrip())
        if parsed is None or len(indent) == 1:
            return None
        close(start)
        open_entry = None
        key = parsed["key"].strip()
        if key[0] in "\"'":
            key = key[1:-1]
        rest = parsed["rest"]
        if indent:
            if root is None or key in cut[root] or (rest or "").startswith(("|", ">")):
                return None
            open_entry = (key, start)
        else:
            if key in cut or (rest and not rest.startswith("#")):
                return None
            root = key
            cut[root] = {}
    close(len(text))
    return cut if cut and all(cut.values()) else None


def _outline(content: Mapping[str, Mapping[str, object]]) -> list[tuple[str, list[str]]]:
    return [(root, list(entries)) for root, entries in content.items()]


def _scan_aliases(match: re.Match[str]) -> list[str] | None:
    """Read the names of one alias block from its lines; None when it needs a real parse."""
    inline = match["inline"]
    if inline is not None:
        return None
    names: list[str] = []
    for line in match["lines"].split("\n")[1:]:
        item = line.strip().removeprefix("- ").strip()
        if not item or item.startswith("#"):
            continue
        if item[0] in "\"'":
            closing = item.find(item[0], 1)
            if closing < 0 or "\\" in item[:closing] or item[closing + 1 : closing + 2] == item[0]:
                return None
            names.append(item[1:closing])
        else:
            names.append(re.split(r":(?:\s|$)|\s#", item, maxsplit=1)[0].rstrip())
    return names


def _aliases_of(data: Any) -> list[str]:
    found: list[str] = []
    if isinstance(data, dict):
        for field in ALIAS_FIELDS:
            value = data.get(field)
            if isinstance(value, dict | list):
                found.extend(str(alias) for alias in value)
    return found
