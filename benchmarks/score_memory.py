"""Score memory predictions against the start-up logs, and write the tables of docs/accuracy-memory.md.

python benchmarks/score_memory.py            print the tables
python benchmarks/score_memory.py --update   write them into the page, between its two markers, and the
                                             figures that `planner fit` cites into measurements/
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from planner.catalogue import load_catalogue
from planner.measurement.accuracy import accuracy_figures, accuracy_path
from planner.measurement.comparison import ErrorScore, VerdictScore
from planner.measurement.predictions import Prediction
from planner.measurement.quantities import QUANTITIES
from planner.measurement.validate import ValidationResult, validate_startup_logs

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "measurements" / "startup_logs.csv"
PAGE = ROOT / "docs" / "accuracy-memory.md"
BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"

SHOWN_BY = ("weights_gib", "kv_tokens_given_pool", "kv_pool_gib")
MISS = {"weights_gib": 0.08, "kv_tokens_given_pool": 0.01, "kv_pool_gib": 0.20}
"""From which absolute relative error on a row is listed."""


def percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 or share == 0 else f"{share:.3%}"


def signed(share: float) -> str:
    return f"{share:+.1%}" if abs(share) >= 0.0005 else "0"


def overall(result: ValidationResult) -> Iterator[str]:
    yield "| quantity | rows | median error | mean | worst | in 1 % | 2 % | 8 % | 20 % | bias | what it is |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for name, score in result.scores().items():
        if isinstance(score, ErrorScore):
            shares = (score.within_1pct, score.within_2pct, score.within_8pct, score.within_20pct)
            within = " | ".join(f"{share:.0%}" for share in shares)
            yield (
                f"| `{name}` | {score.n} | {percent(score.median_ape)} | {percent(score.mean_ape)} "
                f"| {percent(worst(result, name))} | {within} | {signed(score.bias)} | {QUANTITIES[name]} |"
            )


def worst(result: ValidationResult, quantity: str) -> float:
    made = (one.pairs[quantity] for one in result.predictions if quantity in one.pairs)
    return max(abs(pair.relative_error) for pair in made)


def verdicts(result: ValidationResult) -> Iterator[str]:
    score = result.scores()["fits"]
    assert isinstance(score, VerdictScore)
    yield (
        f"Fits or not: right in {score.accuracy:.1%} of {score.n} rows. Of those that came up, "
        f"{score.fits_and_predicted} were predicted to and {score.fits_but_refused} were not; of those that "
        f"did not, {score.fails_and_predicted} were predicted not to and {score.fails_but_accepted} were."
    )


def by_group(result: ValidationResult, group: str) -> Iterator[str]:
    shown = " | ".join(f"`{name}`: rows, median, mean, within 8 %" for name in SHOWN_BY)
    yield f"| {group} | {shown} | fits |"
    yield "|---" * (len(SHOWN_BY) + 2) + "|"
    for name, scores in result.scores_by(group).items():
        cells = []
        for quantity in SHOWN_BY:
            score = scores.get(quantity)
            found = isinstance(score, ErrorScore)
            shares = (score.median_ape, score.mean_ape) if found else ()
            means = ", ".join(percent(share) for share in shares)
            cells.append(f"{score.n}, {means}, {score.within_8pct:.0%}" if found else "")
        fits = scores.get("fits")
        right = isinstance(fits, VerdictScore)
        cells.append(f"{fits.fits_and_predicted + fits.fails_and_predicted} of {fits.n}" if right else "")
        yield f"| {name} | " + " | ".join(cells) + " |"


def described(made: Prediction) -> str:
    log = made.log
    size = f"TP{log.tp}" if log.tp else f"{log.n_gpus} GPUs"
    engine = f"{log.engine} {log.engine_version}".strip()
    return f"line {log.line}: {log.model} on {log.gpu or 'an unnamed GPU'}, {size}, {engine}"


def misses(result: ValidationResult) -> Iterator[str]:
    yield "| row | what | logged | predicted |"
    yield "|---|---|---|---|"
    for quantity, limit in MISS.items():
        rows = [made for made in result.predictions if quantity in made.pairs]
        for made in sorted(rows, key=lambda one: -abs(one.pairs[quantity].relative_error)):
            pair = made.pairs[quantity]
            if abs(pair.relative_error) > limit:
                yield f"| {described(made)} | `{quantity}` | {pair.measured:,.6g} | {pair.predicted:,.6g} |"
    for made in result.predictions:
        if made.verdict and made.verdict[0] != made.verdict[1]:
            predicted = "fits" if made.verdict[1] else "does not fit"
            yield f"| {described(made)} | `fits` | {made.log.outcome} | {predicted} |"


def skipped(result: ValidationResult) -> Iterator[str]:
    yield "| not predicted | rows | lines |"
    yield "|---|---|---|"
    for reason, count in result.skipped.items():
        lines = ", ".join(str(row.line) for row in result.skipped_rows if row.reason == reason)
        yield f"| {reason} | {count} | {lines} |"


def page(result: ValidationResult) -> str:
    stated = result.stated_and_predicted / result.stated
    parts = [
        [
            f"The file has {result.rows} rows. Something could be compared in {result.predicted} of them;",
            f"{len(result.skipped_rows)} are listed at the end with the reason. "
            f"{result.stated} rows state model, accelerator and sizes:",
            f"{result.stated_and_predicted} of these ({stated:.1%}) were predicted. "
            "Each quantity is compared in the rows that log it.",
        ],
        overall(result),
        verdicts(result),
        ["### By engine", ""],
        by_group(result, "engine"),
        ["### By attention kind", ""],
        by_group(result, "attention"),
        ["### By vendor", ""],
        by_group(result, "vendor"),
        ["### Rows that miss", ""],
        misses(result),
        ["### Rows that are not predicted", ""],
        skipped(result),
    ]
    return "\n\n".join("\n".join(part).strip() for part in parts)


def rewritten(text: str, result: ValidationResult) -> str:
    """Return the page with new tables between its two markers."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{page(result)}\n\n{END}{after}"


def main() -> None:
    result = validate_startup_logs(LOGS, load_catalogue())
    if "--update" not in sys.argv[1:]:
        print(page(result))
        return
    figures = json.dumps(accuracy_figures(result.predictions), indent=1)
    accuracy_path().write_text(f"{figures}\n", encoding="utf-8")
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")


if __name__ == "__main__":
    main()
