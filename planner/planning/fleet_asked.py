"""A fleet as a user asks for it: models with demands, GPUs with stock and price, limits; or a YAML file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from planner.catalogue.textfiles import read_plain
from planner.catalogue.yamltext import Slice, line_of, parse
from planner.errors import InvalidInput, PlannerError, nearest_names, shorten
from planner.planning.fleet import Amount, Limits, Objective, Scaling
from planner.planning.headroom import USUAL_UTILISATION
from planner.planning.traffic import Demand, profile_of
from planner.scenario.records import Count, Name, Plain, Scenario, Share
from planner.scenario.slo import LatencySlo
from planner.units import Dimension, parse_count
from planner.units import parse as parse_quantity

MOST_FILE_BYTES = 2**20


class FleetModel(Scenario):
    """One model of a fleet, with what it must carry."""

    model: Name
    """Id, alias, path or hub id."""
    isl: Count | None = None
    """Input tokens of a request."""
    osl: Count | None = None
    """Output tokens of a request."""
    prefix_hit: Annotated[float, Plain, Field(ge=0, lt=1)] = 0.0
    """Share of the input that a prefix cache holds."""
    trace: Name | None = None
    """File of recorded requests, instead of lengths and a demand."""
    demand: Demand | None = None
    """How much is asked."""
    slo: LatencySlo
    """Limits, and the share of requests that must keep them."""
    weight: Amount = 1.0
    """What one of its requests is worth, where not all can be served."""
    options: Mapping[str, Any] = {}
    """Fields of `Deployment` and sizes, such as `weight_dtype` or `tp`."""

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a model without lengths or demand."""
        if self.trace is None and (self.isl is None or self.osl is None or self.demand is None):
            raise InvalidInput(
                f"model {self.model}: isl, osl and a demand (rate or users) are needed, or a trace"
            )
        if self.trace is not None and (self.isl is not None or self.osl is not None):
            raise InvalidInput(f"model {self.model}: a trace has lengths of its own; leave isl and osl out")


class FleetGpu(Scenario):
    """One accelerator type of a fleet."""

    gpu: Name
    """Id or alias."""
    usd_per_gpu_hour: Amount | None = None
    """Price [USD/h]; None takes the price kind of the fleet."""
    stock_gpus: Annotated[int, Plain, Field(ge=0)] | None = None
    """GPUs that can be had at most."""
    capex_usd_per_gpu: Amount | None = None
    """What one costs to buy, with its share of the system [USD]."""
    kw_per_gpu: Amount | None = None
    """All-in power [kW]; None is what is published."""


class FleetAsked(Scenario):
    """A fleet to be chosen."""

    models: Annotated[tuple[FleetModel, ...], Field(min_length=1)]
    gpus: Annotated[tuple[FleetGpu, ...], Field(min_length=1)]
    limits: Limits = Limits()
    objective: Objective = "least-cost"
    scaling: Scaling = "fixed"
    peak_utilisation: Share = USUAL_UTILISATION
    """Peak load over what the replicas carry within the SLO."""
    spare_nodes: Annotated[int, Plain, Field(ge=0, le=10_000)] = 1
    """Nodes of each type in use that stand by; 1 is N+1."""
    part_nodes: bool = False
    """Whether GPUs are paid for one by one."""
    price_kind: Name | None = None
    """Kind of the catalogue's prices to take where none is stated."""
    seed: Annotated[int, Plain, Field(ge=0)] = 0
    """Of the simulations."""


# Keys of the file, with the field that each fills and what it measures; text has the unit.
_MODEL_KEYS: dict[str, tuple[str, Dimension | type | None]] = {
    "model": ("model", None),
    "isl": ("isl", int),
    "osl": ("osl", int),
    "prefix_hit": ("prefix_hit", None),
    "trace": ("trace", None),
    "weight": ("weight", None),
    "rate": ("demand.rate_per_s", None),
    "users": ("demand.users", int),
    "requests_per_user_hour": ("demand.requests_per_user_hour", None),
    "think": ("demand.think_s", Dimension.SECONDS),
    "peak_factor": ("demand.peak_factor", None),
    "profile": ("demand.profile", None),
    "cv": ("demand.cv", None),
    "slo_ttft": ("slo.ttft_s", Dimension.SECONDS),
    "slo_tpot": ("slo.tpot_s", Dimension.SECONDS),
    "slo_e2e": ("slo.e2e_s", Dimension.SECONDS),
    "slo_share": ("slo.share", Dimension.SHARE),
    "weight_dtype": ("options.weight_dtype", None),
    "kv_dtype": ("options.kv_dtype", None),
    "engine": ("options.engine", None),
    "tp": ("options.tp", None),
    "pp": ("options.pp", None),
    "ep": ("options.ep", None),
    "dp": ("options.dp", None),
}
_GPU_KEYS: dict[str, tuple[str, Dimension | type | None]] = {
    "gpu": ("gpu", None),
    "price": ("usd_per_gpu_hour", Dimension.USD_PER_HOUR),
    "stock": ("stock_gpus", int),
    "capex_usd": ("capex_usd_per_gpu", None),
    "power": ("kw_per_gpu", Dimension.WATTS),
}
_LIMIT_KEYS: dict[str, tuple[str, Dimension | type | None]] = {
    "usd_per_hour": ("usd_per_hour", None),
    "usd_per_month": ("usd_per_month", None),
    "capex_usd": ("capex_usd", None),
    "power": ("power_kw", Dimension.WATTS),
}
_FLEET_KEYS: dict[str, tuple[str, Dimension | type | None]] = {
    "models": ("models", None),
    "gpus": ("gpus", None),
    "limits": ("limits", None),
    "objective": ("objective", None),
    "scaling": ("scaling", None),
    "peak_utilisation": ("peak_utilisation", Dimension.SHARE),
    "spare_nodes": ("spare_nodes", None),
    "part_nodes": ("part_nodes", None),
    "price_kind": ("price_kind", None),
    "seed": ("seed", None),
}
Keys = Mapping[str, tuple[str, Dimension | type | None]]


def read_fleet(path: str | os.PathLike[str]) -> FleetAsked:
    """Read a fleet from a YAML file.

    Parameters
    ----------
    path : path
        `models`, `gpus`, and what limits them; quantities carry their unit, such as ``slo_ttft: 2 s``.

    Returns
    -------
    FleetAsked

    Raises
    ------
    PlannerError
        In one line with file and line: broken YAML, an unknown key, a value that cannot be.
    """
    file = os.fspath(path)
    piece = _piece(file)
    return _Reader(piece).fleet(parse(piece))


def place_of_model(path: str | os.PathLike[str], number: int) -> str:
    """Return file and line of a model of a fleet file, for what is found wrong after the file was read."""
    piece = _piece(os.fspath(path))
    return f"{piece.file}:{line_of(piece, ('models', number))}"


def _piece(file: str) -> Slice:
    return Slice(file, read_plain(file, most_bytes=MOST_FILE_BYTES, otherwise="not a fleet"))


class _Reader:
    """Turns the data of a file into records, and names the line of what is wrong."""

    def __init__(self, piece: Slice) -> None:
        self._piece = piece

    def fleet(self, data: Any) -> FleetAsked:
        fields = self._fields(data, _FLEET_KEYS, ())
        for name, keys, record in (("models", _MODEL_KEYS, FleetModel), ("gpus", _GPU_KEYS, FleetGpu)):
            listed = fields.get(name)
            if not isinstance(listed, list) or not listed:
                self._refuse((name,), f"{name}: a list with at least one entry is needed")
            fields[name] = tuple(
                self._record(record, self._fields(one, keys, (name, i)), (name, i))
                for i, one in enumerate(listed or ())
            )
        if fields.get("limits") is not None:
            fields["limits"] = self._record(
                Limits, self._fields(fields["limits"], _LIMIT_KEYS, ("limits",)), ("limits",)
            )
        made: FleetAsked = self._record(FleetAsked, fields, ())
        return made

    def _fields(self, data: Any, keys: Keys, path: tuple[str | int, ...]) -> dict[str, Any]:
        """Return the fields of a record, those with a dot in a record below."""
        if not isinstance(data, dict):
            self._refuse(path, f"a mapping is needed, with {', '.join(list(keys)[:4])}, ...")
        found: dict[str, Any] = {}
        for key, value in data.items():
            if key not in keys:
                near = nearest_names(key, keys)
                hint = f"nearest: {', '.join(near)}" if near else f"there are {', '.join(keys)}"
                self._refuse((*path, key), f"unknown key {shorten(key)}; {hint}")
            field, measure = keys[key]
            holder, _, name = field.rpartition(".")
            place = found.setdefault(holder, {}) if holder else found
            place[name] = self._value(value, key, measure, (*path, key))
        for holder, record in (("demand", Demand), ("slo", LatencySlo)):
            if holder in found:
                found[holder] = self._record(record, found[holder], path)
        if path[:1] == ("models",) and "slo" not in found:
            self._refuse(path, "an SLO is needed: slo_ttft, slo_tpot or slo_e2e, such as slo_ttft: 2 s")
        return found

    def _value(
        self, value: Any, key: str, measure: Dimension | type | None, path: tuple[str | int, ...]
    ) -> Any:
        try:
            if key == "profile":
                return profile_of(value) if isinstance(value, str) else tuple(value)
            if isinstance(value, str) and measure is int:
                return parse_count(value)
            if isinstance(measure, Dimension):
                if measure is Dimension.SHARE and isinstance(value, int | float):
                    return value
                return parse_quantity(value, measure) / (1e3 if measure is Dimension.WATTS else 1.0)
        except (PlannerError, TypeError) as error:
            self._refuse(path, f"{key}: {error}")
        return value

    def _record(self, record: Any, fields: dict[str, Any], path: tuple[str | int, ...]) -> Any:
        try:
            return record(**fields)
        except PlannerError as error:
            said = str(error)
            keys = {"models": _MODEL_KEYS, "gpus": _GPU_KEYS, "limits": _LIMIT_KEYS}
            names = keys.get(str(path[0]), _FLEET_KEYS) if path else _FLEET_KEYS
            wrong = next(
                (
                    key
                    for key, (field, _) in names.items()
                    if field.rpartition(".")[2] in said.split(":", maxsplit=1)[0].split()
                ),
                None,
            )
            self._refuse((*path, wrong) if wrong else path, said)

    def _refuse(self, path: tuple[str | int, ...], said: str) -> Any:
        line = line_of(self._piece, path)
        raise InvalidInput(f"{self._piece.file}:{line}: {said}") from None
