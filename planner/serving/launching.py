"""The servers that realise a deployment: commands on every node, and the proof that they say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.catalogue import Catalogue
from planner.catalogue.kernels import pick_rule
from planner.errors import Unsupported
from planner.memory import MemoryFit, fit_memory
from planner.scenario import Deployment, Workload
from planner.serving.engines import WRITERS
from planner.serving.engines.base import Flag, Line, Place, words_of
from planner.serving.flags import flags_of, missing_flags, read_flags
from planner.serving.wanted import DECODE, PREFILL, Wanted
from planner.serving.words import Shell

AGGREGATED = ""

ROUTER_PORT = 9000

SAID_OTHERWISE = (("prefix_caching", True), ("kv_dtype", "bf16"), ("kv_dtype", "f16"))
"""What needs no flag: a cache that is on by default, and the dtype of the model. The fit shows it."""

OWN_ADDRESS = Shell("$(hostname -i)")
"""The address of the node that a command runs on."""


@dataclass(frozen=True, slots=True)
class Server:
    """One server, or several that are alike.

    Parameters
    ----------
    role : str
        ``prefill`` or ``decode`` where they are apart, else empty.
    copies : int
        Servers of this kind.
    lines : tuple of Line
        The command on each node, the first one first.
    """

    role: str
    copies: int
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Launch:
    """What starts a deployment.

    Parameters
    ----------
    wanted : Wanted
        The deployment.
    servers : tuple of Server
        One kind, or those that prefill and those that decode.
    environment : mapping of str to str
        Variables that every process needs.
    files : mapping of str to mapping
        Files that the commands read.
    image : str or None
        The container image; None where none is known.
    head : str
        Address of the first node.
    proof : MemoryFit
        The fit of the flags, read back from the first command.
    """

    wanted: Wanted
    servers: tuple[Server, ...]
    environment: Mapping[str, str]
    files: Mapping[str, Mapping[str, Any]]
    image: str | None
    head: str
    proof: MemoryFit
    backend: Mapping[str, str] = field(default_factory=dict)

    def contained(self, server: Server) -> tuple[str, ...]:
        """Return the words of a server as a container of one node runs them."""
        first, *words = server.lines[0].words
        return (self.wanted.book.container_program or first, *words)

    def router(self) -> tuple[str, ...]:
        """Return the command of the router in front of pools; empty where there are none."""
        book = self.wanted.book
        if self.wanted.pools is None:
            return ()
        words = [*book.router, "--host", "0.0.0.0", "--port", str(ROUTER_PORT)]
        for server in self.servers:
            for number in range(1, server.copies + 1):
                address = Shell(f"http://${server.role.upper()}_{number}:{self.wanted.port}")
                meeting = server.role == PREFILL and book.bootstrap_port is not None
                words += [f"--{server.role}", address, *([str(book.bootstrap_port)] if meeting else [])]
        return tuple(words)

    def lines_at(self, role: str, head: str, rank: str) -> tuple[Line, Line | None]:
        """Return the first and the other nodes' commands with an address and a number that a shell expands.

        Parameters
        ----------
        role : str
            Of the servers.
        head, rank : str
            Words of type `Shell`.

        Returns
        -------
        tuple of Line and Line or None
            None where there is one node.
        """
        flags = all_flags(self.wanted, role, self.backend)
        if self.wanted.nodes == 1:
            return _one(self.wanted, flags), None
        writer = WRITERS[self.wanted.stack.id]
        return (
            writer.line(self.wanted, flags, Place("0", head, True)),
            writer.line(self.wanted, flags, Place(rank, head, False)),
        )


def launch_of(
    wanted: Wanted, *, head: str, image: str | None, catalogue: Catalogue, workload: Workload, copies: int
) -> Launch:
    """Return what starts a deployment, after the fit of its flags was found to be the same.

    Parameters
    ----------
    wanted : Wanted
        The deployment, which `check_launch` has let pass.
    head : str
        Address of the first node, where there are several.
    image : str or None
        The user's own container image.
    catalogue : Catalogue
        With kernel rules and settings.
    workload : Workload
        The load of the fit.
    copies : int
        Servers that are started, where prefill and decode are not apart.

    Returns
    -------
    Launch

    Raises
    ------
    Unsupported
        For flags that the version does not have.
    """
    environment, backend = environment_of(wanted, catalogue)
    roles: tuple[tuple[str, int], ...] = ((AGGREGATED, copies),)
    if wanted.pools is not None:
        roles = ((PREFILL, wanted.pools.prefill), (DECODE, wanted.pools.decode))
    servers = tuple(
        Server(role, number, tuple(_lines(wanted, role, head, backend))) for role, number in roles
    )
    files = WRITERS[wanted.stack.id].files(wanted)
    proof = prove(wanted, servers[0].role, backend, environment, catalogue, workload)
    found = image or wanted.book.image(wanted.gpu, wanted.version_text)
    return Launch(wanted, servers, environment, files, found, head, proof, backend)


def all_flags(wanted: Wanted, role: str, backend: Mapping[str, str]) -> list[Flag]:
    """Return the flags of a server on one node, those of the attention backend included."""
    return [*WRITERS[wanted.stack.id].flags(wanted, role), *backend.items()]


def _one(wanted: Wanted, flags: list[Flag]) -> Line:
    return Line((*WRITERS[wanted.stack.id].command(wanted), *words_of(flags)))


def _lines(wanted: Wanted, role: str, head: str, backend: Mapping[str, str]) -> Iterator[Line]:
    flags = all_flags(wanted, role, backend)
    if wanted.nodes == 1:
        yield _one(wanted, flags)
        return
    started_by_first = wanted.stack.id == "tensorrt-llm"
    for rank in range(1 if started_by_first else wanted.nodes):
        yield WRITERS[wanted.stack.id].line(wanted, flags, Place(str(rank), head, rank == 0))


def environment_of(wanted: Wanted, catalogue: Catalogue) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables and the backend's flags that make the engine run as the catalogue's rules say.

    Parameters
    ----------
    wanted : Wanted
        The deployment.
    catalogue : Catalogue
        With the kernel rules.

    Returns
    -------
    tuple of dict
        Variables, and flags.
    """
    variables: dict[str, str] = {}
    flags: dict[str, str] = {}
    kernels = set(_kernels(wanted, catalogue)) if wanted.book.environment else set()
    known = flags_of(wanted.stack.id, wanted.version)
    vendor, named = wanted.gpu.vendor.lower(), wanted.recipe.of(wanted.stack.id).attention
    for one in wanted.book.environment:
        if one.vendor == vendor and kernels & set(one.kernels):
            variables |= one.set
            flags |= {flag: named.get(vendor, value) for flag, value in one.flags.items() if flag in known}
    if wanted.pools is not None and wanted.book.pool_address:
        variables[wanted.book.pool_address] = OWN_ADDRESS
    layers, deducted = wanted.asked.pipeline_layers, wanted.asked.deduct_graphs
    if layers is not None and wanted.book.partition:
        variables[wanted.book.partition] = ",".join(map(str, layers))
    if deducted is not None and wanted.book.deduct_graphs:
        variables[wanted.book.deduct_graphs] = str(int(deducted))
    return variables, flags


def _kernels(wanted: Wanted, catalogue: Catalogue) -> Iterator[str]:
    """Yield the kernels that decode the model's attention, by the catalogue's rules."""
    rules = catalogue.kernel_rules()
    kv_dtype = wanted.deployment.kv_dtype
    mixings = {mixing: None for layer in wanted.architecture.layer_kinds() for mixing in layer.mixings()}
    for mixing in mixings:
        rule = pick_rule(
            rules,
            engine=wanted.stack.id,
            version=wanted.version,
            gpu=wanted.gpu,
            kind="dsa" if mixing.kind == "mla" and mixing.top_k is not None else mixing.kind,
            phase="decode",
            heads=mixing.rank_heads(wanted.deployment.tp),
            head_dim=mixing.key_dim,
            kv_dtype="fp8" if kv_dtype.startswith("fp8") else kv_dtype,
            model=wanted.model.id,
        )
        if rule is not None:
            yield rule.kernel


def prove(
    wanted: Wanted,
    role: str,
    backend: Mapping[str, str],
    environment: Mapping[str, str],
    catalogue: Catalogue,
    workload: Workload,
) -> MemoryFit:
    """Read a command back as its engine's parser would, and fit what it says.

    Parameters
    ----------
    wanted, role, backend, environment
        The server.
    catalogue : Catalogue
        Where the engine's settings are.
    workload : Workload
        The load of the fit.

    Returns
    -------
    MemoryFit
        With the same verdict and the same pool.

    Raises
    ------
    Unsupported
        For flags that the version does not have, and where the flags cannot say the deployment.
    """
    flags = all_flags(wanted, role, backend)
    known = flags_of(wanted.stack.id, wanted.version)
    missing = missing_flags((name for name, _ in flags), known)
    if missing:
        version = f" {wanted.version_text}" if wanted.version_text else ""
        raise Unsupported(
            f"{wanted.stack.name}{version} has no {', '.join(missing)}, which this deployment needs; "
            "ask for another version or leave out what it stands for"
        )
    writer = WRITERS[wanted.stack.id]
    said = writer.read(read_flags(words_of(flags), known), writer.files(wanted))
    lengths: dict[str, Any] = {name: said.pop(name) for name in ("context", "concurrency") if name in said}
    asked = wanted.asked
    kept = {name: getattr(asked, name) for name in ("weight_dtype", "engine", "draft_model", "host")}
    if (layers := environment.get(wanted.book.partition or "")) is not None:
        kept["pipeline_layers"] = tuple(map(int, layers.split(",")))
    if (deducted := environment.get(wanted.book.deduct_graphs or "")) is not None:
        kept["deduct_graphs"] = bool(int(deducted))
    _check_said(wanted, {**kept, **said})
    found = fit_memory(
        model=wanted.model,
        gpu=wanted.gpu,
        deployment=Deployment(**{**kept, **said}),
        workload=workload.model_copy(update=lengths),
        catalogue=catalogue,
        advise=False,
    )
    _check_same(wanted, found)
    return found


def _check_said(wanted: Wanted, said: Mapping[str, Any]) -> None:
    """Refuse an option that the engine has no flag for."""
    plain = Deployment()
    for name in Deployment.model_fields:
        value = getattr(wanted.asked, name)
        if value != getattr(plain, name) and name not in said and (name, value) not in SAID_OTHERWISE:
            raise Unsupported(f"{wanted.stack.name} has no flag for {name}: leave it out")


def _check_same(wanted: Wanted, found: MemoryFit) -> None:
    fit = wanted.fit
    same = (
        found.deployment.sharding == fit.deployment.sharding
        and (found.verdict, found.fits, found.kv_tokens) == (fit.verdict, fit.fits, fit.kv_tokens)
        and found.context == fit.context
    )
    if not same:
        raise Unsupported(
            f"the flags of {wanted.stack.name} cannot say this deployment: read back they stand for "
            f"{found.deployment.layout} with {found.kv_tokens:,} KV tokens ({found.verdict}), and "
            f"{fit.deployment.layout} with {fit.kv_tokens:,} ({fit.verdict}) was asked for"
        )
