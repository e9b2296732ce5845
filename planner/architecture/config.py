"""Typed reading of a Hugging Face `config.json`: every field is checked, and a missing one is named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from planner.errors import InvalidInput

# No published model comes near: a larger number in a configuration is an error or an attack.
LARGEST = 1 << 31
# Layers are held one by one, so their number is bounded by what fits in a list.
MOST_LAYERS = 1 << 14


def _shown(value: object) -> str:
    """Return a value as its file has it, quotes of texts included, cut where it is long."""
    written = json.dumps(value, default=str)
    return written if len(written) <= 40 else f"{written[:37]}..."


def head_width(hidden: int, heads: int, where: str) -> int:
    """Return the width of each of the heads that make up a hidden width.

    Parameters
    ----------
    hidden, heads : int
        The width, and how many heads share it.
    where : str
        What the message names.

    Returns
    -------
    int

    Raises
    ------
    InvalidInput
        When the heads do not divide the width.
    """
    if hidden % heads:
        raise InvalidInput(
            f"{where}: num_attention_heads is {heads}, which does not divide hidden_size {hidden}, "
            "and no head_dim is given"
        )
    return hidden // heads


class Config:
    """A view of a configuration that names the field when something is wrong.

    Parameters
    ----------
    values : mapping
        The decoded JSON object.
    where : str
        What the messages name, such as the path of the file or a model id.
    """

    def __init__(self, values: Mapping[str, Any], where: str = "config.json") -> None:
        self.values = values
        self.where = where

    def __contains__(self, key: str) -> bool:
        """Return whether a field is present and not null."""
        return self.values.get(key) is not None

    def size(self, *keys: str, default: int | None = None) -> int:
        """Return a positive integer, from the first of `keys` that is present.

        Parameters
        ----------
        *keys : str
            Names of the field, as families spell it differently.
        default : int, optional
            What to return when none is present.

        Returns
        -------
        int

        Raises
        ------
        InvalidInput
            When the field is missing without a default, or not an integer from 1 to 2**31.
        """
        value = self.count(*keys, default=default)
        if value == 0:
            raise InvalidInput(f"{self.where}: {keys[0]} is 0; expected a positive integer")
        return value

    def count(self, *keys: str, default: int | None = None) -> int:
        """Return an integer of zero or more, as `size` does.

        Parameters
        ----------
        *keys : str
            Names of the field.
        default : int, optional
            What to return when none is present.

        Returns
        -------
        int

        Raises
        ------
        InvalidInput
            When the field is missing without a default, or not an integer from 0 to 2**31.
        """
        for key in keys:
            value = self.values.get(key)
            if value is None:
                continue
            largest = MOST_LAYERS if "layers" in key or "depth" in key else LARGEST
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
                giant = isinstance(value, int) and abs(value) > 10**40
                shown = "a giant integer" if giant else _shown(value)
                raise InvalidInput(f"{self.where}: {key} is {shown}; expected an integer from 0 to {largest}")
            return value
        if default is None:
            raise InvalidInput(f"{self.where}: {' or '.join(keys)} is missing")
        return default

    def flag(self, key: str, default: bool = False) -> bool:
        """Return a boolean field.

        Parameters
        ----------
        key : str
            Name of the field.
        default : bool
            What to return when it is absent.

        Returns
        -------
        bool

        Raises
        ------
        InvalidInput
            When the field is not a boolean.
        """
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InvalidInput(f"{self.where}: {key} is {_shown(value)}; expected true or false")
        return value

    def text(self, *keys: str, default: str | None = None) -> str:
        """Return a text field, from the first of `keys` that is present.

        Parameters
        ----------
        *keys : str
            Names of the field.
        default : str, optional
            What to return when none is present.

        Returns
        -------
        str

        Raises
        ------
        InvalidInput
            When the field is missing without a default, or not a text.
        """
        for key in keys:
            value = self.values.get(key)
            if value is None:
                continue
            if not isinstance(value, str):
                raise InvalidInput(f"{self.where}: {key} is {_shown(value)}; expected a text")
            return value
        if default is None:
            raise InvalidInput(f"{self.where}: {' or '.join(keys)} is missing")
        return default

    def choice(self, key: str, known: Iterable[str], default: str | None = None) -> str:
        """Return a text field that must be one of the known values.

        Parameters
        ----------
        key : str
            Name of the field.
        known : iterable of str
            Its legal values.
        default : str, optional
            What to return when it is absent.

        Returns
        -------
        str

        Raises
        ------
        InvalidInput
            When the field is missing without a default, or another value.
        """
        value = self.text(key, default=default)
        options = list(known)
        if value not in options:
            raise InvalidInput(
                f"{self.where}: {key} is {value[:40]!r}; expected one of: {', '.join(options)}"
            )
        return value

    def items(self, key: str, kind: type, length: int | None = None) -> list[Any]:
        """Return a list field whose items are all of one type.

        Parameters
        ----------
        key : str
            Name of the field.
        kind : type
            Type of each item.
        length : int, optional
            The length that it must have.

        Returns
        -------
        list

        Raises
        ------
        InvalidInput
            When the field is missing, not a list, of another length, or holds another type.
        """
        value = self.values.get(key)
        if value is None:
            raise InvalidInput(f"{self.where}: {key} is missing")
        if not isinstance(value, list) or not all(type(item) is kind for item in value):
            raise InvalidInput(f"{self.where}: {key} is not a list of {kind.__name__}")
        if length is not None and len(value) != length:
            raise InvalidInput(f"{self.where}: {key} has {len(value)} items; expected {length}")
        return value

    def part(self, *keys: str, defaults: Mapping[str, Any] | None = None) -> Config:
        """Return a nested configuration, from the first of `keys` that is present.

        Parameters
        ----------
        *keys : str
            Names of the field, such as ``text_config``.
        defaults : mapping, optional
            What the model class fills in for absent fields, or for the whole part.

        Returns
        -------
        Config

        Raises
        ------
        InvalidInput
            When none is present, or it is not an object.
        """
        for key in keys:
            value = self.values.get(key)
            if value is None:
                continue
            if not isinstance(value, Mapping):
                raise InvalidInput(f"{self.where}: {key} is not an object")
            return Config(value, f"{self.where}: {key}").with_defaults(defaults or {})
        if defaults is not None:
            return Config(defaults, f"{self.where}: {keys[0]}")
        raise InvalidInput(f"{self.where}: {' or '.join(keys)} is missing")

    def with_defaults(self, defaults: Mapping[str, Any]) -> Config:
        """Return this configuration with absent fields filled in.

        Parameters
        ----------
        defaults : mapping
            Values that the model class gives to fields that configurations omit.

        Returns
        -------
        Config
        """
        missing = {key: value for key, value in defaults.items() if key not in self}
        return Config({**self.values, **missing}, self.where)
