"""A certificate that nobody else signed, for servers of the tests: made with the curve P-256."""

from __future__ import annotations

import base64
import hashlib
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
BASE = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
EC_KEY = bytes.fromhex("06072a8648ce3d0201")
CURVE = bytes.fromhex("06082a8648ce3d030107")
SIGNED_BY = bytes.fromhex("06082a8648ce3d040302")
COMMON_NAME = bytes.fromhex("0603550403")
OTHER_NAMES = bytes.fromhex("0603551d11")
CONSTRAINTS = bytes.fromhex("0603551d13")


def _add(one, other):
    if one is None or other is None:
        return one or other
    (x1, y1), (x2, y2) = one, other
    if x1 == x2 and (y1 + y2) % P == 0:
        return None
    slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, P) if one == other else (y2 - y1) * pow(x2 - x1, -1, P)
    x = (slope * slope - x1 - x2) % P
    return x, (slope * (x1 - x) - y1) % P


def _times(number):
    found, doubled = None, BASE
    while number:
        if number & 1:
            found = _add(found, doubled)
        doubled, number = _add(doubled, doubled), number >> 1
    return found


def _der(tag, *parts):
    body = b"".join(parts)
    size = len(body)
    if size < 128:
        return bytes([tag, size]) + body
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 128 + len(length)]) + length + body


def _sequence(*parts):
    return _der(0x30, *parts)


def _integer(value):
    return _der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _bits(data):
    return _der(0x03, b"\0", data)


def _pem(kind, data):
    text = base64.encodebytes(data).decode()
    return f"-----BEGIN {kind}-----\n{text}-----END {kind}-----\n"


def self_signed(path: Path, host: bytes = b"localhost") -> Path:
    """Write a key and a certificate for a host name into one file, valid for a day."""
    key = secrets.randbelow(ORDER - 1) + 1
    x, y = _times(key)
    point = b"\4" + x.to_bytes(32, "big") + y.to_bytes(32, "big")
    name = _sequence(_der(0x31, _sequence(COMMON_NAME, _der(0x0C, host))))
    now = datetime.now(UTC)
    days = [_der(0x17, f"{now + timedelta(days=day):%y%m%d%H%M%S}Z".encode()) for day in (-1, 1)]
    names = _sequence(OTHER_NAMES, _der(0x04, _sequence(_der(0x82, host))))
    authority = _sequence(CONSTRAINTS, _der(0x04, _sequence(_der(0x01, b"\xff"))))
    body = _sequence(
        _der(0xA0, _integer(2)),
        _integer(secrets.randbits(64) + 1),
        _sequence(SIGNED_BY),
        name,
        _sequence(*days),
        name,
        _sequence(_sequence(EC_KEY, CURVE), _bits(point)),
        _der(0xA3, _sequence(names, authority)),
    )
    nonce = secrets.randbelow(ORDER - 1) + 1
    r = _times(nonce)[0] % ORDER
    s = (int.from_bytes(hashlib.sha256(body).digest(), "big") + r * key) * pow(nonce, -1, ORDER) % ORDER
    certificate = _sequence(body, _sequence(SIGNED_BY), _bits(_sequence(_integer(r), _integer(s))))
    private = _sequence(
        _integer(1), _der(0x04, key.to_bytes(32, "big")), _der(0xA0, CURVE), _der(0xA1, _bits(point))
    )
    path.write_text(_pem("EC PRIVATE KEY", private) + _pem("CERTIFICATE", certificate))
    return path
