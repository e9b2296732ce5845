"""Seeded mutations of a file: of its bytes, of its lines, and of the tree that its JSON or YAML holds."""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Callable
from typing import Any

DEPTH = 10_000
"""Levels of nesting that no reader may follow."""

ODD: tuple[Any, ...] = (
    None,
    True,
    [],
    {},
    "",
    "NaN",
    "inf",
    "x" * 5000,
    "1e999",
    "\x00",
    "\ud800",
    -1,
    0,
    1e308,
    10**400,
    float("nan"),
    float("inf"),
    [[[]]],
    {"unit": "ms", "avg": "x"},
    "\u202e\u0663",
    "../../../etc/passwd",
    "a\nb",
    "-0",
    5e-324,
    ["x"] * 3000,
)
BYTES: tuple[bytes, ...] = (
    b"\x00",
    b"\xff\xfe",
    b'"',
    b"{" * 2000,
    b"[" * 100_000,
    b",",
    b"\r",
    b"NaN",
    "π│\u2028\u0085\ufeff".encode(),
    b"\xed\xa0\x80",
    b"\t",
    b"&a ",
    b"*a",
    b"<<: *a\n",
    b"!!python/object/apply:os.system ['true']",
    b"!!binary AA==",
    b"? [a, b]\n: c\n",
    b"%YAML 9.9\n---\n",
    b"\n---\n",
    b"\n...\n",
    b"key: " + b"x" * 100_000 + b"\n",
)
NUMBERS = (
    b"-1",
    b"1e999",
    b"9" * 60,
    b"9" * 5000,
    b"nan",
    b".inf",
    b"",
    b"x",
    b"1,5",
    b"0x10",
    b"1_000",
    b"1:30",
)
LAUGHS = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + level, 98 + level, b",".join([b"*%c" % (97 + level)] * 9)) for level in range(9)
)
"""Nine levels of nine references each: a kilobyte that would be a billion words."""

Mutation = Callable[[bytes, random.Random], bytes]


def mutate(raw: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Return one mutation of a file and what it is called."""
    if rng.random() < 0.55:
        for change in (change_json, change_yaml):
            structured = change(raw, rng)
            if structured is not None:
                return change.__name__, structured
    kind = rng.choice(MUTATIONS)
    return kind.__name__, kind(raw, rng)


def flip(raw: bytes, rng: random.Random) -> bytes:
    """Flip some bits."""
    out = bytearray(raw)
    for _ in range(rng.choice((1, 3, 20)) if raw else 0):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def truncate(raw: bytes, rng: random.Random) -> bytes:
    """Cut the end off."""
    return raw[: rng.randrange(len(raw) + 1)]


def drop_line(raw: bytes, rng: random.Random) -> bytes:
    """Leave some lines out."""
    return b"".join(line for line in raw.splitlines(keepends=True) if rng.random() > 0.1)


def double_line(raw: bytes, rng: random.Random) -> bytes:
    """Put a line in twice, elsewhere."""
    lines = raw.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines) if lines else b"")
    return b"".join(lines)


def indent_line(raw: bytes, rng: random.Random) -> bytes:
    """Move a line to the right or the left."""
    lines = raw.splitlines(keepends=True) or [b""]
    place = rng.randrange(len(lines))
    lines[place] = b"  " + lines[place] if rng.random() < 0.5 else lines[place].lstrip(b" ")
    return b"".join(lines)


def insert_bytes(raw: bytes, rng: random.Random) -> bytes:
    """Put odd bytes in, often where a value begins."""
    places = [i + 2 for i in range(len(raw) - 1) if raw[i : i + 2] == b": "] if rng.random() < 0.5 else []
    place = rng.choice(places) if places else rng.randrange(len(raw) + 1)
    return raw[:place] + rng.choice(BYTES) + raw[place:]


def change_digits(raw: bytes, rng: random.Random) -> bytes:
    """Replace numbers by impossible ones."""
    places = [i for i, byte in enumerate(raw) if 48 <= byte <= 57]
    out = bytearray(raw)
    for place in sorted(rng.sample(places, min(len(places), 5)), reverse=True):
        out[place : place + 1] = rng.choice(NUMBERS)
    return bytes(out)


def change_encoding(raw: bytes, rng: random.Random) -> bytes:
    """Write the text otherwise: byte-order mark, UTF-16, Latin-1, other ends of lines, packed."""
    text = raw.decode("utf-8", errors="replace")
    return rng.choice(
        (
            b"\xef\xbb\xbf" + raw,
            b"\xef\xbb\xbf" * 2 + raw,
            text.encode("utf-16"),
            text.encode("utf-16-be"),
            text.encode("utf-32"),
            text.replace("e", "é").encode("latin-1", errors="replace"),
            raw.replace(b"\n", b"\r\n"),
            raw.replace(b"\n", b"\r"),
            gzip.compress(raw, mtime=0),
            gzip.compress(b"0" * 10_000_000, mtime=0),
        )
    )


def nest(raw: bytes, rng: random.Random) -> bytes:
    """Put something of 10,000 levels in place of all, or of one value."""
    deep = rng.choice(
        (
            b"[" * DEPTH + b"]" * DEPTH,
            b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
            b"- " * DEPTH + b"x",
            b"\n".join(b" " * level + b"a:" for level in range(400)),
        )
    )
    place = raw.find(b": ", rng.randrange(len(raw) + 1))
    if rng.random() < 0.5 or place < 0:
        return deep
    end = raw.find(b"\n", place)
    return raw[: place + 2] + deep + (raw[end:] if end >= 0 else b"")


def laugh(raw: bytes, rng: random.Random) -> bytes:
    """Put references in that stand for a billion words."""
    return LAUGHS if rng.random() < 0.3 else LAUGHS + raw if rng.random() < 0.5 else raw + b"\n" + LAUGHS


MUTATIONS: tuple[Mutation, ...] = (
    flip,
    truncate,
    drop_line,
    double_line,
    indent_line,
    insert_bytes,
    change_digits,
    change_encoding,
    nest,
    laugh,
)


def change_json(raw: bytes, rng: random.Random) -> bytes | None:
    """Change types, drop keys and double them in JSON; None where it is none."""
    try:
        lines = [json.loads(one) for one in raw.splitlines() if one.strip()] if raw.count(b"}\n{") else None
        data = [json.loads(raw)] if lines is None else lines
    except (ValueError, RecursionError):
        return None
    change_some(data, rng)
    texts = [json.dumps(item, ensure_ascii=rng.random() < 0.5) for item in data]
    return "\n".join(texts).encode("utf-8", errors="surrogatepass")


def change_yaml(raw: bytes, rng: random.Random) -> bytes | None:
    """Change types, drop keys and rename them in YAML; None where it is none."""
    import yaml

    try:
        data = [yaml.load(raw, getattr(yaml, "CBaseLoader", yaml.BaseLoader))]
        if not isinstance(data[0], dict | list):
            return None
        change_some(data, rng)
        text = yaml.dump(data[0], sort_keys=False, allow_unicode=rng.random() < 0.5, width=100)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return text.encode("utf-8", errors="surrogatepass")


def change_some(data: Any, rng: random.Random) -> None:
    """Change one or several places of a tree."""
    for _ in range(rng.choice((1, 1, 3, 10))):
        if data:
            change_one(data, rng)


def change_one(data: Any, rng: random.Random) -> None:
    """Change one place of a tree."""
    node: Any = data
    for depth in range(8):
        key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
        child = node[key]
        if not isinstance(child, dict | list) or not child or depth == 7 or rng.random() < 0.2:
            break
        node = child
    action = rng.random()
    if action < 0.25 and isinstance(node, dict):
        del node[key]
    elif action < 0.35 and isinstance(node, dict):
        node[rng.choice(("output_throughput", "metrics", "benchmarks", "hw", "model", "id"))] = node.pop(key)
    elif action < 0.45:
        node[key] = copy.deepcopy(data[0])
    else:
        node[key] = copy.deepcopy(rng.choice(ODD))
