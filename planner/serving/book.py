"""What is known of engines beside their flags: `data/launch.yaml`, read when a launch is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import Field, ValidationError

from planner.catalogue import Gpu
from planner.catalogue.documents import data_directory, read_text
from planner.catalogue.figures import Confidence, Record, Source, Tuple
from planner.catalogue.kernels import ANY_VERSION, VersionRange, in_range
from planner.catalogue.stacks import Version, parse_version
from planner.catalogue.yamltext import Slice, parse
from planner.errors import CatalogueError, Unsupported

FILE = "launch.yaml"

Names = Annotated[tuple[str, ...], Field(strict=False)]


class Device(Record):
    """How containers get the accelerators of a vendor."""

    resource: str
    """Name of the resource that a Kubernetes device plugin offers."""
    paths: tuple[str, ...] = Tuple
    """Devices that a container without such a plugin is given; none where the runtime gives them."""


class Image(Record):
    """A container image of an engine."""

    vendor: str
    isa: tuple[str, ...] = Tuple
    image: str
    """With ``{version}`` where the tag has the engine's version."""
    since: str | None = None
    """First version that is published under this name."""
    source: str
    confidence: Confidence = "published"


class Environment(Record):
    """Variables that an engine needs so that it runs the kernels that the catalogue's rules name."""

    kernels: Names
    vendor: str = "amd"
    set: dict[str, str]
    flags: dict[str, str] = Field(default_factory=dict)
    """Flags that belong to them."""
    rule: str
    """A kernel rule of the catalogue that names them."""


class Refusal(Record):
    """A combination that an engine does not run, or that is not written here."""

    when: dict[str, int]
    """Facts, each of which must reach its number."""
    versions: VersionRange = ANY_VERSION
    why: str
    """With facts in braces."""
    source: str
    confidence: Confidence = "published"

    def holds(self, facts: Mapping[str, int], version: Version | None) -> bool:
        """Return whether the combination is there."""
        return in_range(version, self.versions) and all(facts[name] >= at for name, at in self.when.items())


class EngineBook(Record):
    """What is known of one engine."""

    port: int
    bench: str
    """Program whose flags the load test has."""
    container_program: str | None = None
    """Where an image has the program, if it is not found by its name."""
    kv_dtypes: dict[str, str]
    """The engine's name of each KV dtype."""
    loads: Names
    """Beginnings of the weight formats that it loads."""
    drafts: dict[str, str] = Field(default_factory=dict)
    """The engine's name of each kind of draft; ``draft`` is a model of its own kind."""
    drafts_since: dict[str, str] = Field(default_factory=dict)
    """First examined version that has a kind of draft, where not all have it."""
    images: Annotated[tuple[Image, ...], Field(strict=False)] = ()
    environment: Annotated[tuple[Environment, ...], Field(strict=False)] = ()
    partition: str | None = None
    """Variable that holds the layers of each pipeline stage."""
    deduct_graphs: str | None = None
    """Variable that says whether graphs are taken off before the KV pool."""
    pool_address: str | None = None
    """Variable that holds a server's own address, where prefill and decode are apart."""
    router: Names = ()
    """Words of the program that sends a request to a prefilling and then to a decoding server."""
    bootstrap_port: int | None = None
    """Port on which a prefilling server meets decoding ones."""
    refusals: Annotated[tuple[Refusal, ...], Field(strict=False)] = ()

    def image(self, gpu: Gpu, version: str) -> str | None:
        """Return the image for an accelerator, the last one that matches; None where none is known.

        Parameters
        ----------
        gpu : Gpu
            The accelerator.
        version : str
            The engine's version.

        Returns
        -------
        str or None
        """
        asked = parse_version(version)
        found = [
            one.image
            for one in self.images
            if one.vendor == gpu.vendor.lower()
            and (not one.isa or gpu.isa in one.isa)
            and (one.since is None or asked is None or asked >= (parse_version(one.since) or ()))
        ]
        return found[-1].format(version=version) if found else None


class LaunchBook(Record):
    """The whole file."""

    sources: dict[str, Source]
    devices: dict[str, Device]
    engines: dict[str, EngineBook]

    def engine(self, name: str) -> EngineBook:
        """Return what is known of an engine.

        Parameters
        ----------
        name : str
            Id of its stack.

        Returns
        -------
        EngineBook

        Raises
        ------
        Unsupported
            Where nothing is.
        """
        if name not in self.engines:
            raise Unsupported(f"no launch line is written for {name}; there are {', '.join(self.engines)}")
        return self.engines[name]


def read_data(file: str, record: type[Any]) -> Any:
    """Return a shipped file of launch data as its record, with the file in any complaint."""
    path = data_directory() / file
    try:
        return record.model_validate(parse(Slice(str(path), read_text(path))))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise CatalogueError(f"{path}: {where}: {first['msg']}") from None


@cache
def launch_book() -> LaunchBook:
    """Return the shipped book, read once."""
    book: LaunchBook = read_data(FILE, LaunchBook)
    return book
