"""What is fuzzed: for each parser real files as seeds, and how one file is read and used."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import planner
from planner.catalogue import load_catalogue
from planner.catalogue.documents import Document, data_directory
from planner.measurement.csvtable import CsvRow, CsvTable, read_csv, recognise
from planner.measurement.importers.importing import Imported, ImportedFile, Names, read_file
from planner.measurement.serving_points import COLUMNS, UnreadablePoint, parse_points
from planner.measurement.startup_logs import UnreadableLog, parse_log
from planner.report.imported import ImportReport

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data"
STATED = {"model": "gpt-oss-120b", "gpu": "h200", "n_gpus": "8", "tp": "8"}
LARGEST = 60_000
"""Bytes of a seed; longer files are cut at a line or an entry, so that a run does not take hours."""

PIECES = 12
"""Pieces of each root key of a catalogue file that are mutated."""

Seed = tuple[str, bytes]
Read = Callable[[Path], list[str]]
"""From a mutated file to what is wrong with the outcome; a refusal is raised."""


@dataclass(frozen=True, slots=True)
class Target:
    """One parser.

    Parameters
    ----------
    seeds : callable
        The real files.
    read : callable
        How one is read and used.
    suffix : str
        Ending of the mutated file's name.
    strict : bool
        Whether what stands in a file may open no other file.
    """

    seeds: Callable[[], list[Seed]]
    read: Read
    suffix: str = ".yaml"
    strict: bool = False


BOOK = load_catalogue()
NAMES = Names(BOOK)


def catalogue_seeds(file: str) -> list[Seed]:
    """Return pieces of a shipped catalogue file, each a small file of its own."""
    document = Document(data_directory() / file)
    rng = random.Random(file)
    seeds = []
    for root in document.roots():
        ids = document.ids(root)
        for number in range(min(PIECES, len(ids))):
            picked = rng.sample(ids, min(len(ids), 2))
            text = "".join(document.entry(root, key).piece.text for key in dict.fromkeys(picked))
            named = [key for key in document.ids("sources") if root != "sources" and key in text]
            if named:
                text += "sources:\n" + "".join(document.entry("sources", key).piece.text for key in named)
            seeds.append((f"{file}:{root}:{number}", f"{root}:\n{text}".encode()))
    return [(name, raw) for name, raw in seeds if len(raw) <= LARGEST]


def use_catalogue(path: Path) -> list[str]:
    """Lay a file over the shipped catalogue, read all that it says, and ask with it."""
    book = load_catalogue(extra=path)
    own = book.own[0]
    for root in own.roots():
        for key in own.ids(root):
            if root not in ("unmapped", "sources"):
                book.load_entry(root, key)
                book.aliases(root, key)
    if own.ids("gpus"):
        planner.fit(model="llama-3.1-8b", gpu=own.ids("gpus")[0], tp=1, catalogue=book)
    elif own.ids("models"):
        planner.fit(model=own.ids("models")[0], gpu="h200", catalogue=book)
    elif {"owning", "owning_terms", "purchases", "purchase_terms"} & set(own.roots()):
        planner.own(gpu="h200", catalogue=book)
    elif {"hosts", "fabrics", "stacks", "kernels", "host", "calibration"} & set(own.roots()):
        planner.predict(
            model="llama-3.1-8b", gpu="h200", tp=1, isl=1000, osl=100, catalogue=book, throughput="simulated"
        )
    return []


def launch_data(name: str) -> Target:
    """Return the target of a shipped file of launch data."""

    def read(path: Path) -> list[str]:
        from planner.serving.book import LaunchBook, read_data
        from planner.serving.flags import Programs

        read_data(str(path), LaunchBook if name == "launch.yaml" else Programs)
        return []

    return Target(lambda: [(name, (data_directory() / name).read_bytes())], read)


def config_seeds() -> list[Seed]:
    """Return the configurations of models of every family."""
    by_kind: dict[str, Seed] = {}
    for model in BOOK.models():
        if model.config:
            kind = str(model.config.get("architectures"))
            by_kind.setdefault(kind, (model.id, json.dumps(model.config).encode()))
    return list(by_kind.values())


def use_config(path: Path) -> list[str]:
    """Fit a model from its configuration."""
    planner.fit(model=str(path), gpu="h200", catalogue=BOOK).to_dict()
    return []


def result_seeds(logs: bool) -> list[Seed]:
    """Return the result files of the tests, or their start-up logs."""
    files = [*(DATA / "bench_files").rglob("*"), *(DATA / "bench_samples").glob("*")]
    found = sorted(path for path in files if path.is_file() and path.name not in ("index.csv", "README.md"))
    return [(path.name, clipped(path)) for path in found if (path.suffix == ".log") == logs]


def clipped(path: Path) -> bytes:
    """Return a file, cut at a line where it is long; a long JSON keeps some of its items."""
    raw = path.read_bytes()
    if len(raw) <= LARGEST:
        return raw
    if raw.lstrip()[:1] == b"[":
        return json.dumps(json.loads(raw)[:12], indent=1).encode()
    return raw if raw.lstrip()[:1] == b"{" and b"}\n{" not in raw else raw[: raw.rindex(b"\n", 0, LARGEST)]


def use_results(path: Path) -> list[str]:
    """Import a file."""
    return import_faults(read_file(str(path), STATED, NAMES), str(path))


def import_faults(found: ImportedFile, path: str) -> list[str]:
    """Return what is wrong with the outcome of one file that was imported."""
    wrong = []
    if not found.rows and not found.incomplete and not found.problems:
        wrong.append("neither rows nor a complaint")
    wrong += [f"a complaint without a place: {line[:80]}" for line in found.problems if path not in line]
    wrong += [f"a complaint of several lines: {line[:80]!r}" for line in found.problems if "\n" in line]
    table = CsvTable(path, COLUMNS, ())
    for row in found.serving:
        (point,) = parse_points(table, [CsvRow(1, row.cells)])
        if isinstance(point, UnreadablePoint):
            wrong.append(f"a row that cannot be read back: {point.what}")
    for row in found.startup:
        log = parse_log(CsvRow(1, row.cells))
        if isinstance(log, UnreadableLog):
            wrong.append(f"a start-up that cannot be read back: {log.what}")
    answer = ImportReport(Imported((found,), Path("x"), (), 0, True)).to_dict()
    json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
    return wrong


def table_seeds() -> list[Seed]:
    """Return tables of measurements, cut after some rows."""
    files = [
        ROOT / "measurements" / "startup_logs.csv",
        *sorted((ROOT / "measurements/serving").glob("*.csv")),
    ]
    return [(path.name, b"".join(path.read_bytes().splitlines(keepends=True)[:8])) for path in files]


def use_table(path: Path) -> list[str]:
    """Read a table, and predict its rows."""
    table = read_csv(path)
    recognise(table)
    planner.validate(path, catalogue=BOOK).to_dict()
    return []


TRACES: tuple[Seed, ...] = (
    ("seconds", b"arrival_s,isl,osl\n0,100,10\n0.5,200,20\n0.5,300,30\n7.25,4096,400\n"),
    ("dates", b"TIMESTAMP,ContextTokens,GeneratedTokens\n" + b"2023-11-16 18:17:03.979,374,44\n" * 3),
    ("lines", b'{"timestamp_ms": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0]}\n' * 3),
)


def use_trace(path: Path) -> list[str]:
    """Read a trace."""
    from planner.measurement.traces import read_trace

    read_trace(path)
    return []


FLEET = b"""models:
  - model: llama-3.1-8b
    rate: 30
    peak_factor: 2
    isl: 0.5k
    osl: 40
    slo_ttft: 500 ms
    slo_share: 90 %
    tp: 1
  - {model: qwen3-8b, users: 10k, requests_per_user_hour: 9, isl: 500, osl: 40, slo_e2e: 4 s, profile: daily}
gpus:
  - gpu: h100
    price: 2.5 USD/h
    stock: 16
  - {gpu: mi300x, price: 2 USD/h, power: 1.4 kW}
limits:
  power: 0.1 MW
  usd_per_hour: 200
peak_utilisation: 75 %
spare_nodes: 0
"""


def use_fleet(path: Path) -> list[str]:
    """Read a fleet."""
    from planner.planning.fleet_asked import place_of_model, read_fleet

    asked = read_fleet(str(path))
    place_of_model(str(path), len(asked.models) - 1)
    return []


PRICES = b"""sources:
  ours: {title: "An offer", date: "2026-11-30", url: "https://example.com"}
prices:
  b200-sxm:
    - {usd_per_gpu_hour: 4 USD/h, provider: Ours, kind: on-demand, source: ours, date: "2026-11-30"}
  h200-sxm:
    - {usd_per_gpu_hour: 3 USD/h, provider: Ours, kind: 3y-rental, source: ours, confidence: published}
"""


def use_prices(path: Path) -> list[str]:
    """Compare with prices of one's own."""
    book = load_catalogue(extra=path)
    for price in book.prices():
        assert price.usd_per_gpu_hour > 0
    planner.fit(model="llama-3.1-8b", gpu="b200,h200", price_kind="on-demand", catalogue=book).to_dict()
    return []


def answer_seeds() -> list[Seed]:
    """Return saved answers of several functions."""
    from planner.report.page import DATA_ID

    fit = planner.fit(model="llama-3.1-8b", gpu="h200", tp=1, catalogue=BOOK).to_dict()
    quick: list[Mapping[str, Any]] = [
        fit,
        planner.predict(model="llama-3.1-8b", gpu="h200", tp=1, isl=1000, osl=100, catalogue=BOOK).to_dict(),
        planner.own(gpu="h200", catalogue=BOOK).to_dict(),
        planner.train(model="llama-3.1-8b", gpu="h200", gpus=8, tp=1, pp=1, catalogue=BOOK).to_dict(),
    ]
    page = f'<!doctype html><script type="application/json" id="{DATA_ID}">{json.dumps(fit)}</script>'
    return [*((str(one["schema"]), json.dumps(one).encode()) for one in quick), ("page", page.encode())]


def use_answer(path: Path) -> list[str]:
    """Ask a saved answer again."""
    planner.verify(path, catalogue=BOOK).to_dict()
    return []


def use_launch(path: Path) -> list[str]:
    """Launch what a saved answer says."""
    report = planner.launch(saved=path, catalogue=BOOK)
    text = report.to_text()
    report.to_dict()
    return [] if "passwd" not in text else ["a path of the file stands in the command"]


SWEEP = b"""model: [llama-3.1-8b, qwen3-8b]
gpu: h200,mi300x
isl: 1k,2k
osl: 128
concurrency: 1..8
weight_dtype: [fp8, bf16]
price: {h200: [2.5, 3], mi300x: 2}
utilisation: 0.7
"""


class Enough(BaseException):
    """Ends a sweep after its first part."""


def use_sweep(path: Path) -> list[str]:
    """Begin a sweep."""
    from planner.cli.sweep import _read

    def stop(done: int, _: int) -> None:
        if done:
            raise Enough

    with contextlib.suppress(Enough):
        said = {"model": "llama-3.1-8b", "gpu": "h200", "isl": 1000, "osl": 100, **_read(str(path))}
        planner.sweep(**said, progress=stop, catalogue=BOOK)
    return []


PLAN = b"""runs:
  - model: llama-3.1-8b
    seconds: 60
    points: [{kind: decode, batch: 2, context: 64, steps: 12}]
  - model: qwen3-8b
    weight_dtype: fp8
    memory_fraction: 0.9
    config: {vocab_size: 10}
"""


def use_plan(path: Path) -> list[str]:
    """Read a plan of measurements."""
    from planner.measurement.engine.plan import read_plan

    for run in read_plan(str(path)):
        assert len(run.timed()) < 10_000
    return []


SIDECAR = (
    b"gpu: h200\ngpus: 16\nnodes: 2\ntp: 8\npp: 2\nengine: vllm==0.22.0\nweight_dtype: mxfp4\ndate: 2026-11\n"
)


def use_sidecar(path: Path) -> list[str]:
    """Read what stands beside a result file."""
    from planner.measurement.importers.settings import FILE_SIDECAR, beside

    said = beside(str(path).removesuffix(FILE_SIDECAR))
    return [f"a cell of several lines: {cell!r}" for cell in said.values() if "\n" in cell]


LINK = {
    "model": "kimi-k3",
    "gpu": "mi355x,b200",
    "isl": "1024",
    "osl": "400",
    "context": "128k",
    "price": "mi355x=2.50,b200=4.25",
    "request_rate": "2.5",
    "profile": "daily",
    "slo_ttft_s": "2",
    "weight_dtype": "mxfp4",
}


def use_link(path: Path) -> list[str]:
    """Take a link for a scenario, and that for a link again."""
    from planner.dashboard.scenario import LONGEST_VALUE, read_link, write_link

    query = {key: one if isinstance(one, str) else json.dumps(one) for key, one in _object(path).items()}
    scenario, refused = read_link(query, BOOK)
    wrong = [f"a line of {len(line)}: {line[:80]!r}" for line in refused if len(line) > 3 * LONGEST_VALUE]
    if read_link(write_link(scenario), BOOK) != (scenario, []):
        wrong.append("the link of the scenario is another scenario")
    return wrong


def _object(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file; anything else never comes that far."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


CALLS: tuple[dict[str, Any], ...] = (
    {"tool": "fit", "model": "kimi-k3", "gpu": ["mi355x", "b200"], "tp": 8, "context": 1000},
    {"tool": "fit", "model": "qwen3-8b", "gpu": "h100", "price": {"h100": 2.5}, "memory_fraction": 0.9},
    {
        "tool": "predict",
        "model": "qwen3-8b",
        "gpu": "h100",
        "isl": 1000,
        "osl": 100,
        "tp": 1,
        "concurrency": 8,
    },
    {"tool": "models", "search": "qwen3"},
    {"tool": "gpus", "show": "b200"},
)


def use_call(path: Path) -> list[str]:
    """Answer a call of a tool."""
    from planner.mcp.answering import INTERNAL, answer

    given = _object(path)
    made = answer(str(given.pop("tool", "fit")), given)
    wrong = ["an internal error"] if made.text.startswith(INTERNAL) else []
    wrong += ["an answer of several lines"] if "\n" in made.text else []
    json.dumps(made.record, allow_nan=False)
    return wrong


def _fixed(*seeds: Seed) -> Callable[[], list[Seed]]:
    return lambda: list(seeds)


def _calls() -> list[Seed]:
    return [(call["tool"], json.dumps(call).encode()) for call in CALLS]


CATALOGUES = sorted(
    path.name for path in data_directory().glob("*.yaml") if not path.name.startswith("launch")
)


def targets() -> Iterator[tuple[str, Target]]:
    """Yield every target by its name."""
    for file in CATALOGUES:
        name = f"catalogue-{file.removesuffix('.yaml')}"
        yield name, Target(lambda file=file: catalogue_seeds(file), use_catalogue, strict=True)  # type: ignore[misc]
    yield "launch-data", launch_data("launch.yaml")
    yield "launch-flags", launch_data("launch_flags.yaml")
    yield "config", Target(config_seeds, use_config, ".json", strict=True)
    yield "results", Target(lambda: result_seeds(False), use_results, ".json", strict=True)
    yield "logs", Target(lambda: result_seeds(True), use_results, ".log", strict=True)
    yield "tables", Target(table_seeds, use_table, ".csv")
    yield "traces", Target(_fixed(*TRACES), use_trace, ".csv", strict=True)
    yield "fleet", Target(_fixed(("fleet", FLEET)), use_fleet, strict=True)
    yield "prices", Target(_fixed(("prices", PRICES)), use_prices, strict=True)
    yield "answers", Target(answer_seeds, use_answer, ".json", strict=True)
    yield "launch", Target(answer_seeds, use_launch, ".json", strict=True)
    yield "sweep", Target(_fixed(("sweep", SWEEP)), use_sweep)
    yield "plan", Target(_fixed(("plan", PLAN)), use_plan, strict=True)
    yield "sidecar", Target(_fixed(("sidecar", SIDECAR)), use_sidecar, ".planner.yaml", strict=True)
    yield "links", Target(_fixed(("link", json.dumps(LINK).encode())), use_link, ".json", strict=True)
    yield "mcp", Target(_calls, use_call, ".json", strict=True)
