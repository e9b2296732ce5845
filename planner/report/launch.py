"""What starts a deployment, as text that can be pasted: commands, manifests, and the load test."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.report.base import Report
from planner.report.launch_notes import launch_notes
from planner.report.table import GIB, Column, Table, frame_of, records_to_csv
from planner.serving.compose import compose
from planner.serving.documents import yaml_text
from planner.serving.engines.base import Line
from planner.serving.flags import NEGATED
from planner.serving.kubernetes import manifest
from planner.serving.launching import Launch, Server, all_flags
from planner.serving.load_test import LoadTest
from planner.serving.words import Shell, shell_text

if TYPE_CHECKING:
    import pandas

SCHEMA = "planner.launch/1"

FLAG_KEYS = ("flag", "value", "because")

FLAG_COLUMNS = (
    Column("flag", "flag"),
    Column("value", "value", flexible=True),
    Column("because", "because", flexible=True),
)


@dataclass(frozen=True, slots=True, repr=False)
class LaunchReport(Report):
    """What starts one deployment.

    Parameters
    ----------
    launch : Launch
        The servers.
    test : LoadTest or None
        The load test, where lengths are stated.
    form : str
        What `to_text` is: ``command``, ``kubernetes``, ``compose`` or ``json``.
    name, secret : str or None
        Of the Kubernetes objects, and of the Secret that holds the token.
    """

    launch: Launch
    test: LoadTest | None
    form: str = "command"
    name: str | None = None
    secret: str | None = None

    @property
    def title(self) -> str:
        """Return what the report is about."""
        wanted = self.launch.wanted
        return f"Launch {wanted.model.name} on {wanted.gpu.name}"

    @property
    def sentence(self) -> str:
        """Return in words what is started, and what the fit of its flags says."""
        wanted, fit = self.launch.wanted, self.launch.proof
        nodes = f" over {wanted.nodes} nodes" if wanted.nodes > 1 else ""
        gpus = f"{wanted.deployment.gpus} GPU{'s' if wanted.deployment.gpus > 1 else ''}"
        copies = ", ".join(_copies(server) for server in self.launch.servers)
        return (
            f"{wanted.model.name} on {gpus} of {wanted.gpu.name}{nodes} ({fit.deployment.layout}) by "
            f"{wanted.stack.name} {wanted.version_text}: {copies}. Read back, its flags give the same fit: "
            f"{fit.verdict}, {fit.kv_tokens:,} KV tokens, {fit.max_concurrency:,.1f} requests of "
            f"{fit.request_tokens:,} tokens at once."
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what the user should know of the fit, and of what is started."""
        return launch_notes(self.launch, self.form, self.name)

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Return the Kubernetes objects."""
        return manifest(self.launch, name=self.name, secret=self.secret)

    def commands(self) -> str:
        """Return every command with where it runs, as lines of a shell."""
        launch, parts = self.launch, []
        for name, data in launch.files.items():
            parts.append(f"cat > {name} <<'EOF'\n{yaml_text([data])}EOF")
        for server in launch.servers:
            for number, line in enumerate(server.lines):
                parts.append(f"# {self._place(server, number)}\n{_command(line, launch)}")
        if launch.router():
            parts.append(f"# the router in front of them\n{shell_text(launch.router())}")
        if self.test is not None:
            parts.append(f"# the load test, and its result to planner\n{shell_text(self.test.bench)}")
            parts.append(shell_text(self.test.importing))
            parts.append(f"# or by planner's own client\n{shell_text(self.test.measuring)}")
        return "\n\n".join(parts) + "\n"

    def _place(self, server: Server, number: int) -> str:
        nodes = self.launch.wanted.nodes
        each = (
            f"each of {server.copies} {server.role} servers".replace("  ", " ")
            if server.copies > 1
            else f"{server.role} server".strip()
        )
        if nodes == 1:
            return each
        if len(server.lines) == 1:
            return f"{each}: once, for {nodes} nodes whose names stand in the file hosts"
        return f"{each}: node {number} of {nodes}" + (
            " (HEAD_ADDRESS is its address)" if self._names_head(number) else ""
        )

    def _names_head(self, number: int) -> bool:
        return number == 0 and isinstance(self.launch.head, Shell)

    def to_text(self) -> str:
        """Return the launch in the form that was asked for, ready to be pasted."""
        if self.form == "kubernetes":
            return yaml_text(self.objects)
        if self.form == "compose":
            return yaml_text([compose(self.launch, name=self.name)])
        return self.commands()

    def tables(self) -> tuple[Table, ...]:
        """Return the flags with what each stands for."""
        return (Table(FLAG_COLUMNS, tuple(self.to_records()), "Flags"),)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one record for each flag of the first server, and for each variable."""
        launch = self.launch
        flags = all_flags(launch.wanted, launch.servers[0].role, launch.backend)
        assumed = {one.name: one.provenance for one in launch.wanted.fit.assumptions}
        rows = [
            {"flag": flag, "value": value or "", "because": _because(flag, assumed)} for flag, value in flags
        ]
        return rows + [
            {"flag": name, "value": str(value), "because": "kernel rules of the catalogue"}
            for name, value in launch.environment.items()
        ]

    def to_csv(self) -> str:
        """Return the flags as CSV."""
        return records_to_csv(self.to_records(), FLAG_KEYS)

    def to_frame(self) -> pandas.DataFrame:
        """Return the flags as a pandas frame."""
        return frame_of(self.to_records())

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.launch/1`."""
        launch, wanted, fit = self.launch, self.launch.wanted, self.launch.proof
        sizes = {name: getattr(wanted.deployment, name) for name in ("tp", "pp", "ep", "dp", "dcp")}
        known = launch.image is not None
        record = {
            "schema": SCHEMA,
            "model": wanted.model.id,
            "gpu": wanted.gpu.id,
            "engine": wanted.stack.id,
            "engine_version": wanted.version_text,
            **sizes,
            "gpus": wanted.deployment.gpus,
            "nodes": wanted.nodes,
            "checkpoint": wanted.checkpoint,
            "image": launch.image,
            "environment": {name: str(value) for name, value in launch.environment.items()},
            "files": {name: dict(data) for name, data in launch.files.items()},
            "servers": [_server(server, launch) for server in launch.servers],
            "router": shell_text(launch.router()) or None,
            "load_test": None if self.test is None else _test(self.test),
            "kubernetes": self.objects if known and self.form in ("kubernetes", "json") else None,
            "proof": {
                "fits": fit.fits,
                "verdict": fit.verdict,
                "kv_tokens": fit.kv_tokens,
                "max_concurrency": fit.max_concurrency,
                "available_gib": fit.per_rank.available_bytes / GIB,
            },
            "sentence": self.sentence,
            "warnings": list(self.warnings),
        }
        return self.signed(record)

    def _repr_html_(self) -> str:
        import html

        return f"<p><strong>{html.escape(self.sentence)}</strong></p><pre>{html.escape(self.to_text())}</pre>"


def launch_text(report: LaunchReport) -> str:
    """Return what a page shows under "Launch it": the commands, and what to know of them.

    Parameters
    ----------
    report : LaunchReport
        The launch.

    Returns
    -------
    str
        Lines of a shell; notes are its comments.
    """
    notes = "".join(f"# {warning}\n" for warning in report.warnings)
    return f"{notes}{report.commands()}"


def _copies(server: Server) -> str:
    kind = f"{server.role} server".strip()
    return f"1 {kind}" if server.copies == 1 else f"{server.copies} {kind}s"


def _command(line: Line, launch: Launch) -> str:
    steps = [shell_text(words) for words in line.before]
    return "\n".join([*steps, shell_text(line.words, launch.environment.items())])


def _server(server: Server, launch: Launch) -> dict[str, Any]:
    return {
        "role": server.role or "both",
        "copies": server.copies,
        "nodes": [
            {"node": number, "argv": [str(word) for word in line.words], "command": _command(line, launch)}
            for number, line in enumerate(server.lines)
        ],
    }


def _test(test: LoadTest) -> dict[str, str]:
    return {
        "bench": shlex.join(test.bench),
        "import": shlex.join(test.importing),
        "measure": shlex.join(test.measuring),
    }


BECAUSE = {
    "memory_fraction": ("memory-utilization", "mem-fraction", "memory_fraction"),
    "max_num_seqs": ("max-num-seqs", "max-running", "max_batch"),
    "max_num_batched_tokens": ("max-num-batched", "chunked-prefill", "max_num_tokens", "ubatch"),
    "context": ("max-model-len", "context-length", "max_seq_len", "ctx-size"),
}
"""Which flags stand for which value of the fit, by a part of their names."""


def _because(flag: str, assumed: dict[str, str]) -> str:
    if "trust" in flag:
        return "the recipe of the model: its checkpoint has code of its own"
    name = next((name for name, parts in BECAUSE.items() if any(part in flag for part in parts)), None)
    if name is None:
        return "the deployment" if NEGATED not in flag else "asked for"
    return assumed.get(name, "asked for")
