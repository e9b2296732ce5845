"""A sweep: many models, accelerators, settings, loads and prices, numbered so that any part stands alone.

A group is one model on one accelerator with one setting; its loads are the product of lengths and requests at
once. Rows are numbered by group, then load, then price, so a row has the same number whoever computes it, in
whatever order, and a task is a range of numbers.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.catalogue import Model
from planner.economics import Use
from planner.errors import InvalidInput, shorten

MOST_ROWS = 10**10
"""A sweep of more would not end."""

MOST_PER_S = 1_000_000
"""Requests a second, at most."""

TASK_ROWS = 1 << 15
"""Rows that are computed and written together, about."""

SIZES = ("gpus", "tp", "pp", "ep", "dp", "dcp")
SETTINGS = ("engine", "weight_dtype", "kv_dtype", *SIZES, "prefix_hit")
"""What a group is made of beside model and accelerator, each an axis, in the order of the rows."""

LENGTHS, CONCURRENCY, RATE = ("isl", "osl"), "concurrency", "request_rate"
"""What loads are made of: lengths, and either requests at once or a rate of them; the last runs fastest."""


@dataclass(frozen=True, slots=True)
class PriceTerm:
    """A price of one GPU of a sweep, or why there is none.

    Parameters
    ----------
    usd_per_gpu_hour : float or None
        Price [USD/h].
    kind : str or None
        The terms, or "given".
    reason : str
        Why there is no price of this kind; empty where there is one or none was asked for.
    provenance : str
        Who asks it, and when.
    """

    usd_per_gpu_hour: float | None = None
    kind: str | None = None
    reason: str = ""
    provenance: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """One model on one accelerator with one setting.

    Parameters
    ----------
    number : int
        Its place in the sweep.
    model, gpu : str or Model, str
        What runs on what.
    settings : dict
        A value for each of `SETTINGS`; None where nothing was given.
    first_row : int
        Number of its first row.
    """

    number: int
    model: str | Model
    gpu: str
    settings: dict[str, Any]
    first_row: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of loads of a group."""

    group: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Task:
    """Pieces that are computed and written together.

    Parameters
    ----------
    number : int
        Its place in the sweep.
    pieces : tuple of Piece
        In the order of the rows.
    rows : int
        How many rows they have.
    """

    number: int
    pieces: tuple[Piece, ...]
    rows: int


@dataclass(frozen=True)
class SweepQuestion:
    """All that a sweep asks, in a form that travels to other processes and machines.

    Parameters
    ----------
    models : tuple of str or Model
        Names, paths or records.
    gpus : tuple of str
        Ids of accelerators.
    settings : dict of str to tuple
        The values of each of `SETTINGS`.
    loads : dict of str to tuple of numbers
        The values of each of `LENGTHS`, and of `CONCURRENCY` or `RATE` [requests/s].
    prices : dict of str to tuple of PriceTerm
        By accelerator; at least one each.
    options : dict
        Further fields of `planner.scenario.Deployment`.
    draft, tokens_per_step, network_bytes_per_s
        As for `predict`.
    use : Use
        The share of paid time that serves.
    directory, own : str, tuple of str
        Where the catalogue is.
    catalogue_digest : str
        Of the catalogue [hex].
    """

    models: tuple[str | Model, ...]
    gpus: tuple[str, ...]
    settings: dict[str, tuple[Any, ...]]
    loads: dict[str, tuple[int, ...] | tuple[float, ...]]
    prices: dict[str, tuple[PriceTerm, ...]]
    options: dict[str, Any]
    draft: str | None
    tokens_per_step: float | None
    network_bytes_per_s: float | None
    use: Use
    directory: str
    own: tuple[str, ...]
    catalogue_digest: str

    @property
    def by_rate(self) -> bool:
        """Return whether loads are rates, and not requests at once."""
        return RATE in self.loads

    @property
    def loads_of_a_group(self) -> int:
        """Return how many loads each group has."""
        return math.prod(len(values) for values in self.loads.values())

    @property
    def settings_of_a_pair(self) -> int:
        """Return how many settings each model has on each accelerator."""
        return math.prod(len(values) for values in self.settings.values())

    @property
    def rows(self) -> int:
        """Return how many rows the sweep has."""
        prices = sum(len(terms) for terms in self.prices.values())
        return len(self.models) * prices * self.settings_of_a_pair * self.loads_of_a_group

    @property
    def groups(self) -> int:
        """Return how many groups there are."""
        return len(self.models) * len(self.gpus) * self.settings_of_a_pair

    @property
    def key(self) -> str:
        """Return a digest that two sweeps share only if their rows are the same [hex]."""
        import planner

        said = {
            "models": [one if isinstance(one, str) else one.model_dump(mode="json") for one in self.models],
            "gpus": self.gpus,
            "settings": self.settings,
            "loads": self.loads,
            "prices": {
                gpu: [(t.usd_per_gpu_hour, t.kind, t.reason) for t in terms]
                for gpu, terms in self.prices.items()
            },
            "options": self.options,
            "more": [self.draft, self.tokens_per_step, self.network_bytes_per_s, self.use.served],
            "catalogue": self.catalogue_digest,
            "planner": planner.__version__,
            "task_rows": TASK_ROWS,
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()

    def group(self, number: int) -> Group:
        """Return a group by its place."""
        pair, place = divmod(number, self.settings_of_a_pair)
        model, gpu = divmod(pair, len(self.gpus))
        values = {}
        for name in reversed(SETTINGS):
            place, at = divmod(place, len(self.settings[name]))
            values[name] = self.settings[name][at]
        settings = {name: values[name] for name in SETTINGS}
        return Group(number, self.models[model], self.gpus[gpu], settings, self._first_row(number))

    def _first_row(self, number: int) -> int:
        pair, place = divmod(number, self.settings_of_a_pair)
        model, gpu = divmod(pair, len(self.gpus))
        prices = [len(self.prices[one]) for one in self.gpus]
        before = (model * sum(prices) + sum(prices[:gpu])) * self.settings_of_a_pair + place * prices[gpu]
        return before * self.loads_of_a_group

    def tasks(self) -> Iterator[Task]:
        """Yield the tasks in the order of the rows; the same sweep is always cut alike."""
        held: list[Piece] = []
        rows = number = 0
        for piece, size in self._pieces():
            held.append(piece)
            rows += size
            if rows >= TASK_ROWS:
                yield Task(number, tuple(held), rows)
                held, rows, number = [], 0, number + 1
        if held:
            yield Task(number, tuple(held), rows)

    def _pieces(self) -> Iterator[tuple[Piece, int]]:
        loads = self.loads_of_a_group
        for number in range(self.groups):
            gpu = self.gpus[number // self.settings_of_a_pair % len(self.gpus)]
            prices = len(self.prices[gpu])
            step = max(1, TASK_ROWS // prices)
            for start in range(0, loads, step):
                stop = min(start + step, loads)
                yield Piece(number, start, stop), (stop - start) * prices


def counts(name: str, given: Any) -> tuple[int, ...]:
    """Return the whole numbers of an axis, each once and in the order in which they were given.

    Parameters
    ----------
    name : str
        What they are, for the message.
    given : int, str or iterable of these
        ``4096``, ``"4k"``, ``"1k,2k,4k"``, ``"1..256"`` for 1, 2, 4, ... up to 256, or a list of such.

    Returns
    -------
    tuple of int

    Raises
    ------
    InvalidInput
        For what is no whole number above 0, and for an axis without values.
    """
    numbers = tuple(
        dict.fromkeys(itertools.chain.from_iterable(_counts(name, one) for one in _several(given)))
    )
    if not numbers:
        raise InvalidInput(f"{name}: no value; write it like 1k,2k,4k or 1..256")
    return numbers


def _counts(name: str, one: Any) -> Iterator[int]:
    from planner.units import parse_count

    if isinstance(one, str):
        for part in one.split(","):
            first, _, last = part.strip().partition("..")
            try:
                low, high = parse_count(first), parse_count(last or first)
            except InvalidInput as error:
                raise InvalidInput(f"{name}: {error}") from None
            if not 0 < low <= high:
                raise InvalidInput(f"{name}: {part.strip()!r} is not possible; such as 4k, or 1..256 upwards")
            while low <= high:
                yield low
                low *= 2
    elif isinstance(one, bool) or not hasattr(one, "__index__") or int(one) < 1:
        raise InvalidInput(f"{name}: {one!r} is no whole number above 0")
    else:
        yield int(one)


def rates(name: str, given: Any) -> tuple[float, ...]:
    """Return the rates of an axis, each once and in the order in which they were given.

    Parameters
    ----------
    name : str
        What they are, for the message.
    given : float, str or iterable of these
        ``2.5``, ``"0.5,1,2"``, ``"1..64"`` for 1, 2, 4, ... up to 64, or a list of such.

    Returns
    -------
    tuple of float

    Raises
    ------
    InvalidInput
        For what is no number above 0 and at most a million, and for an axis without values.
    """
    found = tuple(dict.fromkeys(rate for one in values(given) for rate in _rates(name, one)))
    if not found:
        raise InvalidInput(f"{name}: no value; write it like 0.5,1,2 or 1..64")
    return found


def _rates(name: str, one: Any) -> Iterator[float]:
    first, _, last = one.partition("..") if isinstance(one, str) else (one, "", "")
    try:
        low, high = float(first), float(last or first)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if isinstance(one, bool) or not 0 < low <= high <= MOST_PER_S:
        raise InvalidInput(
            f"{name}: {one!r} is not possible; above 0 and at most {MOST_PER_S:,}, or 1..64 upwards"
        )
    while low <= high:
        yield low
        low *= 2


def values(given: Any) -> tuple[Any, ...]:
    """Return the values of an axis of names or numbers, each once; text with commas is several."""
    parts = (
        part
        for one in _several(given)
        for part in ([word.strip() for word in one.split(",")] if isinstance(one, str) else [one])
    )
    found = tuple(parts)
    odd = next((one for one in found if not isinstance(one, Hashable)), None)
    if odd is not None:
        raise InvalidInput(f"{shorten(odd)} is no value of an axis; one name or number is needed, or a list")
    return tuple(dict.fromkeys(found))


def _several(given: Any) -> Sequence[Any]:
    alone = isinstance(given, str | Mapping) or not hasattr(given, "__iter__")
    return [given] if alone else list(given)
