"""What another predictor is asked and answers, and how one is found by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from planner.catalogue import Gpu, Model
from planner.errors import Unsupported, unknown_name
from planner.performance.intervals import Estimate
from planner.scenario import Deployment

GROUP = "planner.throughput"
"""Entry points under which a package offers a provider: its name, and a class that takes no argument."""

BUILT_IN = {"aiconfigurator": "planner.performance.providers.aiconfigurator:AIConfigurator"}


@dataclass(frozen=True, slots=True)
class ProviderPoint:
    """An operating point: one copy of a deployment under a closed load.

    Parameters
    ----------
    model : Model
        The model, with its names on the hub.
    gpu : Gpu
        The accelerator.
    deployment : Deployment
        Sizes, dtypes and engine; the KV dtype is named, not "auto".
    engine : str
        Id of the engine, without its version.
    node_gpus : int
        Accelerators of one node.
    isl, osl, concurrency : int
        Input and output tokens of a request, and requests at once.
    prefix_hit : float
        Share of the input that a cache holds.
    """

    model: Model
    gpu: Gpu
    deployment: Deployment
    engine: str
    node_gpus: int
    isl: int
    osl: int
    concurrency: int
    prefix_hit: float = 0.0


@dataclass(frozen=True, slots=True)
class Provided:
    """What a provider says.

    Parameters
    ----------
    name : str
        Of the provider, as `--throughput` takes it.
    version : str
        The package and tables that answered.
    figures : mapping of str to Estimate
        Any of ``output_tps_total``, ``output_tps_per_gpu``, ``total_tps_per_gpu``, ``tps_per_user``,
        ``ttft_ms`` and ``tpot_ms``, each with its 80 % interval.
    notes : tuple of str
        What the user should know of it.
    """

    name: str
    version: str
    figures: Mapping[str, Estimate]
    notes: tuple[str, ...] = ()


class Provider(Protocol):
    """Another predictor of throughput."""

    name: str

    def figures(self, point: ProviderPoint) -> Provided:
        """Answer for one operating point.

        Raises
        ------
        Unsupported
            With one reason where it cannot: not installed, a version that was not tried, an accelerator or
            model that it has no data for, or data that are known to be wrong.
        """


def provider_names() -> tuple[str, ...]:
    """Return the names of all providers, those of installed packages after planner's own."""
    return tuple(dict.fromkeys([*BUILT_IN, *_entry_points()]))


def provider(name: str, others: tuple[str, ...] = ()) -> Provider:
    """Return a provider by its name.

    Parameters
    ----------
    name : str
        The name.
    others : tuple of str
        What else the user could have meant, for the message.

    Returns
    -------
    Provider

    Raises
    ------
    UnknownName
        Where there is none of this name.
    Unsupported
        Where a package offers one that cannot be imported.
    """
    home = (BUILT_IN.get(name) or _entry_points().get(name)) if isinstance(name, str) else None
    if home is None:
        raise unknown_name("throughput", name, (*others, *provider_names()))
    module, _, attribute = home.partition(":")
    try:
        made: Provider = getattr(import_module(module), attribute)()
    except (ImportError, AttributeError) as error:
        raise Unsupported(f"throughput {name}: {home} cannot be imported: {error}") from None
    return made


def _entry_points() -> dict[str, str]:
    """Return what installed packages offer, by name; the first of a name counts."""
    from importlib.metadata import entry_points

    found: dict[str, str] = {}
    for point in entry_points(group=GROUP):
        found.setdefault(point.name, point.value)
    return found
