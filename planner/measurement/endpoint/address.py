"""Where an endpoint is: its address as people write it, and the paths below it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from planner.errors import InvalidInput, shorten

KNOWN_ENDS = ("/chat/completions", "/completions", "/models")
VERSION = re.compile(r"/v\d+$")


@dataclass(frozen=True, slots=True)
class Address:
    """The base of an API.

    Parameters
    ----------
    root : str
        Scheme, host and whatever stands before the version, such as ``http://localhost:8000``.
    version : str
        Such as ``/v1``; empty where the paths have none.
    """

    root: str
    version: str = "/v1"

    def path(self, name: str) -> str:
        """Return the address of a part of the API, such as ``chat/completions``."""
        return f"{self.root}{self.version}/{name}"


def parse_address(url: str) -> Address:
    """Read the address of an endpoint, with or without its version or the path of a call.

    Parameters
    ----------
    url : str
        Such as ``http://localhost:8000``, ``https://host/v1`` or ``http://host/v1/chat/completions``.

    Returns
    -------
    Address

    Raises
    ------
    InvalidInput
        When it is no address of a server, or holds a password or a query.
    """
    parts = _split(url)
    path = parts.path.rstrip("/")
    end = next((end for end in KNOWN_ENDS if path.endswith(end)), "")
    path = path.removesuffix(end)
    version = VERSION.search(path)
    root = f"{parts.scheme}://{parts.netloc}"
    if version is None:
        # The whole path of a call says that there is no version; a base alone leaves it out.
        return Address(root + path, "") if end else Address(root + path)
    return Address(root + path[: version.start()], version[0])


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid or not url.strip().isascii() or any(not "!" <= sign <= "~" for sign in url.strip()):
        raise InvalidInput(
            f"{shorten(url)} is no address of a server; write it like http://localhost:8000 or https://host/v1"
        )
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(
            "the address holds a user or password; leave it out: a key is read from the environment "
            "(OPENAI_API_KEY, or the variable that --api-key-env names)"
        )
    if parts.query or parts.fragment:
        raise InvalidInput(
            f"{shorten(url)} has a query or fragment; write the base of the API, like https://host/v1"
        )
    return parts
