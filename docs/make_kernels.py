"""Write the tables of `kernels.md` anew from `data/stacks.yaml`: `python docs/make_kernels.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from planner import load_catalogue
from planner.catalogue import Catalogue
from planner.catalogue.effects import AcceptanceTable, Speedup, TransferCurve
from planner.catalogue.kernels import ANY_VERSION, Family, KernelRule, Numbers
from planner.units import format_quantity

PAGE = Path(__file__).with_name("kernels.md")
DRAFTS = range(1, 9)


def main() -> None:
    """Replace what stands between the marks of each table."""
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def rewritten(text: str) -> str:
    """Return the page with its tables made from the shipped data."""
    catalogue = load_catalogue()
    for name, lines in tables(catalogue).items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise SystemExit(f"{PAGE}: no place for the table {name!r}")
        text = f"{before}{begin}\n{chr(10).join(lines)}\n\n{end}{after}"
    return text


def tables(catalogue: Catalogue) -> dict[str, list[str]]:
    """Return the lines of each table."""
    return {
        "rules": list(_rules(catalogue)),
        "host": list(_host(catalogue)),
        "acceptance": list(_acceptance(catalogue.acceptance_tables())),
        "tasks": list(_tasks(catalogue.acceptance_tables())),
        "speedups": list(_speedups(catalogue.speedups())),
        "transfers": list(_transfers(catalogue.transfer_curves())),
    }


def _rules(catalogue: Catalogue) -> Iterator[str]:
    rules = catalogue.kernel_rules()
    for family in get_args(Family):
        members = [rule for rule in rules if rule.family == family]
        yield from (f"### {family[0].upper()}{family[1:]}", "")
        yield from _head("rule", "where", "when", "what runs", "cost", "why, and the way out", "source")
        for rule in members:
            remedy = f" **Way out:** {rule.remedy}." if rule.remedy else ""
            yield _row(
                f"`{rule.id}`",
                _where(rule),
                _when(rule),
                _runs(rule),
                _cost(rule),
                f"{rule.why}.{remedy}",
                _cited(rule),
            )
        yield ""


def _where(rule: KernelRule) -> str:
    engines = ", ".join(
        name if versions == ANY_VERSION else f"{name} {versions}" for name, versions in rule.engines.items()
    )
    chips = ", ".join(rule.gpus or rule.isa) or rule.vendor or "any GPU"
    return f"{engines or 'any engine'}; {chips}"


def _when(rule: KernelRule) -> str:
    when = rule.when
    said = [", ".join(rule.kinds)]
    if rule.phase != "both":
        said.append(rule.phase)
    if rule.backend:
        said.append(f"backend {rule.backend} chosen")
    said += [
        f"{name} {_numbers(condition)}"
        for name, condition in (("heads", when.heads), ("head size", when.head_dim), ("width", when.width))
        if condition is not None
    ]
    for names in (when.weight_formats, when.models):
        if names:
            said.append(" or ".join(names))
    if when.kv_dtypes:
        said.append(f"KV {' or '.join(when.kv_dtypes)}")
    return "; ".join(said)


def _numbers(condition: Numbers) -> str:
    said = []
    if condition.any_of:
        said.append(f"in {', '.join(map(str, condition.any_of))}")
    if condition.none_of:
        said.append(f"not in {', '.join(map(str, condition.none_of))}")
    if condition.multiple_of:
        said.append(f"a multiple of {condition.multiple_of}")
    if condition.not_multiple_of:
        said.append(f"no multiple of {condition.not_multiple_of}")
    if condition.at_least is not None:
        said.append(f"at least {condition.at_least}")
    if condition.at_most is not None:
        said.append(f"at most {condition.at_most}")
    return " and ".join(said)


def _runs(rule: KernelRule) -> str:
    if rule.refused:
        return "refused"
    stored = f", kept as {rule.storage}" if rule.storage else ""
    return f"{rule.kernel}{f', arithmetic in {rule.compute}' if rule.compute else ''}{stored}"


def _cost(rule: KernelRule) -> str:
    said = []
    if rule.pad_heads_to:
        said.append(f"heads padded to {' or '.join(map(str, rule.pad_heads_to))}")
    if rule.pad_heads_multiple:
        said.append(f"heads padded to a multiple of {rule.pad_heads_multiple}")
    if rule.slowdown:
        slow = rule.slowdown
        said.append(f"{slow.mid:g} times ({slow.low:g} to {slow.high:g}) of the {slow.of}")
    return "; ".join(said)


def _cited(row: KernelRule | AcceptanceTable | Speedup | TransferCurve) -> str:
    title = f"[{row.source.title}]({row.source.url})" if row.source.url else row.source.title
    return f"{row.confidence}: {title}, {row.date}"


def _host(catalogue: Catalogue) -> Iterator[str]:
    yield from _head("engine", "versions", "scheduler", "low", "middle", "high", "source")
    for engine in catalogue.ids("host"):
        host = catalogue.host(engine)
        assert host is not None
        for step in host.steps:
            times = (f"{1e3 * time:g} ms" for time in (step.low, step.mid, step.high))
            yield _row(engine, step.versions, step.mode, *times, f"{step.confidence}: {step.source.title}")


def _acceptance(rows: list[AcceptanceTable]) -> Iterator[str]:
    yield from _head("table", "draft", "thinking", "variant", *map(str, DRAFTS), "source")
    for row in rows:
        if row.tokens:
            thinking = {True: "on", False: "off", None: ""}[row.thinking]
            means = (f"{row.tokens[drafted]:.2f}" if drafted in row.tokens else "" for drafted in DRAFTS)
            yield _row(f"`{row.id}`", row.draft, thinking, row.variant or "", *means, _cited(row))


def _tasks(rows: list[AcceptanceTable]) -> Iterator[str]:
    yield from _head("table", "draft", "drafted", "tokens of a step", "source")
    for row in rows:
        if row.tasks:
            means = ", ".join(f"{task} {mean:g}" for task, mean in row.tasks.items())
            yield _row(f"`{row.id}`", row.draft, str(row.drafted), means, _cited(row))


def _speedups(rows: list[Speedup]) -> Iterator[str]:
    yield from _head(
        "model", "GPU", "draft", "over", "gain by requests at once, or by load", "load", "source"
    )
    for row in rows:
        gains = {**row.by_concurrency, **row.by_load}
        shown = ", ".join(f"{load}: {gain:g}" for load, gain in gains.items())
        gpus = f"{row.gpus} x {row.gpu}" if row.gpus else row.gpu
        over = "no speculation" if row.over == "none" else row.over
        yield _row(row.model, gpus, row.draft, over, shown, row.workload or "", _cited(row))


def _transfers(rows: list[TransferCurve]) -> Iterator[str]:
    yield from _head("curve", "fabric", "line rate", "sizes of", "achieved rate", "source")
    for row in rows:
        line = format_quantity(row.line_rate, "bytes/s", 3) if row.line_rate else "not stated"
        first, last = next(iter(row.points.items())), list(row.points.items())[-1]
        ends = dict([first, last])
        shown = ", ".join(
            f"{format_quantity(rate, 'bytes/s', 3)} at {format_quantity(size, 'bytes', 3)}"
            for size, rate in ends.items()
        )
        yield _row(f"`{row.id}`", row.fabric, line, f"{row.by}s", shown, _cited(row))


def _head(*names: str) -> tuple[str, str]:
    return _row(*names), f"|{'---|' * len(names)}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(re.sub(r'[|]', '/', cell) for cell in cells)} |"


if __name__ == "__main__":
    main()
