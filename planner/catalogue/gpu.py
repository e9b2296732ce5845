"""The record of one accelerator, and the few questions the rest of planner asks it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from planner.catalogue.figures import (
    Achieved,
    BitsPerS,
    Bytes,
    BytesPerS,
    Confidence,
    Count,
    Date,
    Figure,
    FlopPerS,
    Record,
    Source,
    Tuple,
    UsdPerHour,
    Watts,
    resolve_source,
)
from planner.errors import Unsupported

NAMEPLATE_SHARE = 0.97
"""Share of the decimal nameplate taken as usable where nobody published what a process gets.

It lies below the smallest share of any part in the catalogue with both figures (T4, 0.978), so that an
assumption never promises memory that is not there.
"""

ASSUMED_NODE_GPUS = 8
"""GPUs of a server where an entry gives none, as for the PCIe cards of the catalogue."""

RATE_OF = {
    "fp16": "bf16",
    "mxfp8": "fp8",
    "mxfp6": "fp6",
    "mxfp4": "fp4",
    "nvfp4": "fp4",
}
"""Formats that run at the peak listed under another name, where the part has them at all."""


def _sourced(data: Any, info: ValidationInfo) -> Any:
    return resolve_source(dict(data), info) if isinstance(data, dict) else data


class Launch(Record):
    """When the part was announced or launched."""

    value: Date
    source: Source
    date: Date
    confidence: Confidence = "published"
    note: str | None = None


class Formats(Record):
    """The number formats that the silicon computes in."""

    list: tuple[str, ...] = Tuple
    source: Source
    date: Date
    confidence: Confidence = "published"
    note: str | None = None


class Memory(Record):
    """Device memory: what is sold, what the driver shows and what a process gets are three figures."""

    type: str
    marketed: Bytes | None = None
    """The nameplate. Never used as an amount that can be filled."""
    driver: Bytes | None = None
    """Total that the driver shows (nvidia-smi, OpenCL, rocm-smi)."""
    framework: Bytes | None = None
    """Total that a process sees (CUDA or HIP total memory)."""
    opencl: Bytes | None = None
    practical: Bytes | None = None
    """What others found usable in practice, on parts that share memory with their host."""
    host_shared: bool = False
    host_shared_note: str | None = None
    bandwidth: BytesPerS | None = None
    ddr: Bytes | None = None
    sram: Bytes | None = None


class Power(Record):
    """Power of the part and of the rack it comes in."""

    tdp: Watts | None = None
    rack: Watts | None = None


Topology = Literal["switch", "mesh", "torus", "pcie", "none"]


class ScaleUp(Record):
    """The links between the GPUs of one domain; all rates are one way."""

    link: str
    topology: Topology
    """switch: any pair gets the whole rate of a GPU. mesh: a pair gets one link. torus: neighbours only.
    pcie: through the host's PCIe. none: a single device."""
    topology_note: str | None = None
    per_gpu: BytesPerS | None = None
    """One way, all links of a GPU together."""
    p2p_link: BytesPerS | None = None
    """One way, between one pair of GPUs (mesh and torus)."""
    links: int | None = Field(default=None, gt=0)
    usable_p2p: BytesPerS | None = None
    """One way, what a copy between one pair reaches."""
    tp_subset: dict[str, BytesPerS] = Field(default_factory=dict)
    """One way, what a GPU can use inside a tensor-parallel group of so many."""
    in_switch_reduction: bool = False
    domain_gpus: Count | None = None


class Node(Record):
    """The server the part comes in."""

    gpus: Count | None = None
    nics: Count | None = None
    nic_rate: BitsPerS | None = None
    server_max: Watts | None = None


class ScaleOut(Record):
    """The network between nodes."""

    per_gpu: BytesPerS | None = None
    """One way line rate for each GPU."""
    fabric: str | None = None


class Tco(Record):
    """Cost and power of a public total-cost model (InferenceX), per GPU."""

    tdp: Watts
    all_in_power: Watts
    """IT power of the whole system divided by its GPUs."""
    own: UsdPerHour
    rent_3y: UsdPerHour


def _read_aliases(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(alias): note or "" for alias, note in value.items()}
    return value


ISA_OF = {
    "volta": "sm_70",
    "turing": "sm_75",
    "ada": "sm_89",
    "hopper": "sm_90",
    "blackwell ultra": "sm_103",
    "vega 20": "gfx906",
    "cdna2": "gfx90a",
    "cdna3": "gfx942",
    "cdna4": "gfx950",
    "rdna3": "gfx1100",
    "rdna3.5": "gfx1151",
}
"""The instruction set of architectures that have one; Ampere and Blackwell have several."""

_SM = re.compile(r"\bsm_?(\d{2,3})[a-z]?\b", re.IGNORECASE)
_GFX = re.compile(r"\bgfx[0-9a-f]{3,4}\b", re.IGNORECASE)


def isa_named(text: str) -> str | None:
    """Return the instruction set that a text names, such as ``sm_90`` of "Hopper (sm_90a)", or None."""
    if sm := _SM.search(text):
        return f"sm_{sm[1]}"
    if gfx := _GFX.search(text):
        return gfx[0].lower()
    plain = re.sub(r"\b([cr]dna) (?=\d)", r"\1", text.lower())
    found = [name for name in ISA_OF if re.search(rf"\b{re.escape(name)}(?![\w.])", plain)]
    return ISA_OF[max(found, key=len)] if found else None


class Gpu(Record):
    """One accelerator: every figure with its source, and what planner derives from them."""

    id: str
    name: str
    vendor: str
    architecture: str
    isa: str | None = None
    status: str
    devices: int = Field(default=1, gt=0)
    """Devices that a framework sees on one card. Figures are for the whole card; what a GPU is asked
    (`usable`, `peak`, `bandwidth_bytes_per_s`, `node_gpus` ...) is for one device, which a rank runs on."""
    aliases: Annotated[dict[str, str], BeforeValidator(_read_aliases)] = Field(default_factory=dict)
    """Other names, each with a note that may be empty; a name of several parts stands under each of them."""
    launch: Annotated[Launch, BeforeValidator(_sourced)] | None = None
    memory: Memory
    peaks: dict[str, FlopPerS] = Field(default_factory=dict)
    """Dense peak by number format; matrix units where there are any."""
    uneven_peaks: dict[str, str] = Field(default_factory=dict)
    """Formats whose peak is more than twice that of the next wider one, and why that is so."""
    dtypes: Annotated[Formats, BeforeValidator(_sourced)] | None = None
    power: Power = Power()
    scale_up: ScaleUp | None = None
    node: Node = Node()
    scale_out: ScaleOut = ScaleOut()
    inferencex: Tco | None = None
    achieved: dict[str, Annotated[tuple[Achieved, ...], Field(strict=False)]] = Field(default_factory=dict)
    notes: tuple[str, ...] = Tuple
    traps: tuple[str, ...] = Tuple

    @model_validator(mode="before")
    @classmethod
    def _know_isa(cls, data: Any) -> Any:
        """Take the instruction set from the architecture where only that says it, and in its usual form."""
        if not isinstance(data, dict):
            return data
        isa, architecture = data.get("isa"), data.get("architecture")
        if isinstance(isa, str):
            return {**data, "isa": isa_named(isa) or isa}
        if isa is None and isinstance(architecture, str) and (named := isa_named(architecture)):
            return {**data, "isa": named}
        return data

    def _need(self, figure: Figure | None, what: str, field: str) -> Figure:
        if figure is None:
            raise Unsupported(
                f"{self.id}: no {what} is known ({field}); give it in a catalogue file of your own"
            )
        return figure

    def _of_device(self, figure: Figure) -> Figure:
        """Return the share that one of a card's devices has of a figure."""
        if self.devices == 1:
            return figure
        note = "; ".join(filter(None, (figure.note, f"one of the {self.devices} devices of a card")))
        return figure.model_copy(
            update={"value": figure.value / self.devices, "note": note, "alternatives": ()}
        )

    @property
    def usable(self) -> Figure:
        """What a process can really get: framework total, else driver total, else an assumption.

        The assumption is the `practical` figure, else `NAMEPLATE_SHARE` of the nameplate; either says so in
        its confidence and note.
        """
        memory = self.memory
        stated = memory.framework or memory.driver or memory.practical
        if stated is not None:
            return self._of_device(stated)
        marketed = self._need(memory.marketed, "memory size", "memory.marketed")
        nameplate = f"the marketed {marketed.value / 1e9:g} GB"
        note = f"{NAMEPLATE_SHARE:.0%} of {nameplate}; what a process gets is unpublished"
        value = marketed.value * NAMEPLATE_SHARE
        return self._of_device(
            marketed.model_copy(
                update={"value": value, "confidence": "assumed", "note": note, "alternatives": ()}
            )
        )

    @property
    def usable_bytes(self) -> float:
        """Memory that a process can really get [bytes]; see `usable` for the rule."""
        return self.usable.value

    @property
    def usable_field(self) -> Literal["framework", "driver", "practical", "marketed"]:
        """The memory field that `usable_bytes` comes from."""
        memory = self.memory
        if memory.framework is not None:
            return "framework"
        if memory.driver is not None:
            return "driver"
        return "practical" if memory.practical is not None else "marketed"

    @property
    def usable_source(self) -> str:
        """Where `usable_bytes` comes from: field, confidence, source, date and note."""
        usable = self.usable
        note = f"; {usable.note}" if usable.note else ""
        return f"memory.{self.usable_field}, {usable.provenance()}{note}"

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Peak memory bandwidth [bytes/s]."""
        return self._of_device(
            self._need(self.memory.bandwidth, "memory bandwidth", "memory.bandwidth")
        ).value

    @property
    def formats(self) -> tuple[str, ...]:
        """Number formats the silicon computes in."""
        return self.dtypes.list if self.dtypes else ()

    def peak(self, dtype: str) -> Figure:
        """Return the dense peak for a number format, with its source.

        Parameters
        ----------
        dtype : str
            Such as "bf16", "fp8", "mxfp4"; block formats run at the rate of their width where the part
            has them.

        Returns
        -------
        Figure
            The peak [FLOP/s].

        Raises
        ------
        Unsupported
            When the silicon has no such format or no peak is known; it names the formats that exist.
        """
        wanted = dtype.lower()
        found = self.peaks.get(wanted)
        if found is None and wanted in self.formats:
            found = self.peaks.get(RATE_OF.get(wanted, ""))
        if found is None:
            have = ", ".join(self.rated_dtypes()) or "none"
            raise Unsupported(f"{self.id} has no dense {dtype} peak; it has: {have}")
        return self._of_device(found)

    def peak_flop_per_s(self, dtype: str) -> float:
        """Return the dense peak for a number format [FLOP/s]; `Unsupported` where there is none."""
        return self.peak(dtype).value

    def rated_dtypes(self) -> list[str]:
        """Return the formats for which `peak` has an answer."""
        by_rate = [
            name for name in self.formats if name not in self.peaks and RATE_OF.get(name) in self.peaks
        ]
        return [*self.peaks, *by_rate]

    def supports(self, dtype: str) -> bool:
        """Return whether the silicon computes in this number format."""
        wanted = dtype.lower()
        return wanted in self.formats or wanted in self.peaks

    @property
    def node_gpus(self) -> int:
        """GPUs in one node, at most: the size within which no node-to-node network is needed.

        A baseboard part comes in whole nodes of this size (`whole_nodes`); of a PCIe card a server holds any
        number up to it. Where no server is given, `ASSUMED_NODE_GPUS` is taken, and answers say so.
        """
        if self.node.gpus is None:
            return ASSUMED_NODE_GPUS
        return round(self.node.gpus.value) * self.devices

    @property
    def max_gpus_per_node(self) -> int:
        """The same as `node_gpus`, under the name that says it is a maximum."""
        return self.node_gpus

    @property
    def whole_nodes(self) -> bool:
        """Whether the part is bought and placed by whole nodes (baseboards, trays) and not card by card."""
        return (
            self.scale_up is not None
            and self.scale_up.topology in ("switch", "mesh", "torus")
            and not self.is_card
        )

    @property
    def is_card(self) -> bool:
        """Whether the part is a card in a PCIe slot, bridged or not."""
        return self.scale_up is not None and "pcie" in self.scale_up.link.lower()

    @property
    def scale_up_bytes_per_s(self) -> float:
        """One-way rate of all scale-up links of one GPU [bytes/s]."""
        figure = self.scale_up.per_gpu if self.scale_up else None
        return self._of_device(self._need(figure, "scale-up rate", "scale_up.per_gpu")).value

    @property
    def domain_gpus(self) -> int:
        """GPUs that reach each other over the scale-up links; 1 where there are none."""
        figure = self.scale_up.domain_gpus if self.scale_up else None
        return self.devices if figure is None else round(figure.value) * self.devices

    @property
    def scale_out_bytes_per_s(self) -> float:
        """One-way line rate of the network between nodes for each GPU [bytes/s]."""
        return self._of_device(
            self._need(self.scale_out.per_gpu, "scale-out rate", "scale_out.per_gpu")
        ).value

    @property
    def tdp_watts(self) -> float:
        """Board power limit [W]."""
        return self._of_device(self._need(self.power.tdp, "power limit", "power.tdp")).value
