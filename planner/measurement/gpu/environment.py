"""Where a measurement was made: accelerator, driver, clocks, limits and libraries; nothing of the host."""

from __future__ import annotations

import datetime
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

TIMEOUT_S = 20
EVERY_S = 1.0
"""Between two readings of power and clocks [s]."""

NVIDIA_FIELDS = (
    "name,driver_version,memory.total,power.limit,clocks.max.sm,clocks.max.memory,vbios_version,"
    "persistence_mode,mig.mode.current,ecc.mode.current"
)
NVIDIA_LIVE = "power.draw,clocks.sm,clocks.mem,temperature.gpu"


def environment(torch: Any | None = None, device: str = "cuda") -> dict[str, str]:
    """Return what a measurement depends on beside its own settings, and nothing that names the machine.

    Parameters
    ----------
    torch : module, optional
        PyTorch, where it took part.
    device : str
        Where it ran.

    Returns
    -------
    dict of str to str
        Only what could be read.
    """
    found = {"date": datetime.date.today().isoformat()}
    if torch is not None:
        found |= torch_facts(torch, device)
    return found | driver_facts()


def torch_facts(torch: Any, device: str) -> dict[str, str]:
    """Return versions of PyTorch and its runtime, and what it says of the device."""
    hip = torch.version.hip
    found = {
        "torch": str(torch.__version__),
        "runtime": f"ROCm {hip}" if hip else f"CUDA {torch.version.cuda}",
    }
    if not device.startswith("cuda"):
        return {**found, "runtime": "CPU", "device": "CPU"}
    known = torch.cuda.get_device_properties(0)
    found["device"] = known.name
    found["multiprocessors"] = str(known.multi_processor_count)
    found["memory_bytes"] = str(known.total_memory)
    cache = getattr(known, "L2_cache_size", None)
    if cache:
        found["l2_bytes"] = str(cache)
    if hip:
        found["isa"] = known.gcnArchName.split(":")[0]
    return found


def driver_facts(run: Callable[[Sequence[str]], str | None] | None = None) -> dict[str, str]:
    """Return what the vendor's tool says: driver, limits, largest clocks. It is only read, never set."""
    run = run or output_of
    if shutil.which("nvidia-smi") or run is not output_of:
        text = run(["nvidia-smi", f"--query-gpu={NVIDIA_FIELDS}", "--format=csv,noheader", "--id=0"])
        if text:
            return named_fields(NVIDIA_FIELDS, text)
    for tool in (["amd-smi", "static", "--driver", "--limit", "--gpu", "0", "--csv"], _ROCM):
        text = run(tool) if shutil.which(tool[0]) or run is not output_of else None
        if text:
            return csv_facts(text)
    return {}


_ROCM = ["rocm-smi", "--showdriverversion", "--showproductname", "--showmaxpower", "--csv"]


def named_fields(names: str, line: str) -> dict[str, str]:
    """Return the values of one line of `nvidia-smi --format=csv`, those that the device knows."""
    values = [value.strip() for value in line.strip().splitlines()[0].split(",")]
    pairs = zip(names.split(","), values, strict=False)
    return {name.replace(".", "_"): value for name, value in pairs if value and "[N/A]" not in value}


def csv_facts(text: str) -> dict[str, str]:
    """Return the first row of a CSV with a header, as the tools of ROCm print it."""
    lines = [line for line in text.splitlines() if "," in line]
    if len(lines) < 2:
        return {}
    pairs = zip(lines[0].split(","), lines[1].split(","), strict=False)
    return {
        name.strip().lower().replace(" ", "_"): value.strip()
        for name, value in pairs
        if value.strip() and value.strip() != "N/A" and not _names_the_machine(name)
    }


def _names_the_machine(name: str) -> bool:
    lowered = name.lower()
    return any(word in lowered for word in ("serial", "uuid", "unique", "bdf", "host", "pci", "guid", "node"))


def output_of(command: Sequence[str]) -> str | None:
    """Return what a tool prints, None where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


@dataclass
class PowerMeter:
    """Reads power, clocks and temperature beside a measurement; a context manager.

    Parameters
    ----------
    read : callable, optional
        Returns one line of readings, or None; by default the vendor's tool.
    """

    read: Callable[[], str | None] | None = None
    readings: list[dict[str, float]] = field(default_factory=list)

    def __enter__(self) -> PowerMeter:
        """Start reading."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._stopped.set()
        self._thread.join(timeout=TIMEOUT_S)

    def _run(self) -> None:
        read = self.read or live_line
        while not self._stopped.is_set():
            line = read()
            if line is None:
                return
            self.readings.append(live_values(line))
            self._stopped.wait(EVERY_S)

    def summary(self) -> dict[str, str]:
        """Return the median and the largest of each reading."""
        names = {name for reading in self.readings for name in reading}
        found = {}
        for name in sorted(names):
            values = [reading[name] for reading in self.readings if name in reading]
            found[name] = f"median {median(values):g}, most {max(values):g} ({len(values)} readings)"
        return found


def live_line() -> str | None:
    """Return one line of readings of the first device, None where there is no tool for it."""
    if shutil.which("nvidia-smi"):
        form = "--format=csv,noheader,nounits"
        return output_of(["nvidia-smi", f"--query-gpu={NVIDIA_LIVE}", form, "--id=0"])
    if shutil.which("amd-smi"):
        return output_of(["amd-smi", "metric", "--power", "--clock", "--temperature", "--gpu", "0", "--csv"])
    return None


def live_values(line: str) -> dict[str, float]:
    """Return the numbers of one reading by name and unit."""
    if "gpu" in line.splitlines()[0].lower():
        named: Mapping[str, str] = csv_facts(line)
    else:
        named = dict(zip(_LIVE_NAMES, (part.strip() for part in line.split(",")), strict=False))
    found = {}
    for name, text in named.items():
        try:
            found[name] = float(text)
        except ValueError:
            continue
    return found


_LIVE_NAMES = ("power_watts", "clock_sm_mhz", "clock_memory_mhz", "temperature_c")
