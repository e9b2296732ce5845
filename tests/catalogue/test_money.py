"""economics.yaml: a user's own costs of owning, terms and hosted prices, and what is refused, by line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.catalogue import Catalogue, load_catalogue
from planner.economics import hosted_price, own_price, owned_terms, planned_use
from planner.errors import CatalogueError, Unsupported

OURS = """\
sources:
  quote: {title: Quote of our supplier, date: 2026-11-02}
owning:
  mi355x:
    capex: {value: 29 kUSD, source: quote}
    all_in_power: {value: 1.9 kW, source: quote}
owning_terms:
  inferencex:
    life_years: {value: 5, source: quote}
    power_in_colocation: false
    colocation: {value: 95 USD/kW-month, source: quote}
hosted:
  ours-llama:
    model: llama-3.1-8b
    provider: Ours
    input: 0.05 USD/Mtok
    output: 0.1 USD/Mtok
    source: quote
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "ours.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_user_s_figures_lie_over_the_shipped_ones(tmp_path: Path) -> None:
    catalogue = load_catalogue(extra=write(tmp_path, OURS))
    found = owned_terms(catalogue.gpu("mi355x"), catalogue)
    terms = found.terms
    assert (terms.capex_usd_per_gpu, terms.kw_per_gpu, terms.life_years) == (29_000, 1.9, 5)
    assert not terms.power_in_colocation
    assert (terms.colocation_usd_per_kw_month, terms.electricity_usd_per_kwh, terms.pue) == (95, 0.08, 1.25)
    assert found.provenance["capex_usd_per_gpu"] == "published, 2026-11-02"
    price = hosted_price("llama-3.1-8b", catalogue)
    assert price.provenance == "Ours, published: Quote of our supplier (2026-11-02)"


@pytest.mark.parametrize(
    ("wrong", "right", "line", "said"),
    [
        ("29 kUSD", "29000", 5, "has no unit; write it like 31 kUSD or 31000 USD"),
        ("29 kUSD", "29 kEUR", 5, "unknown unit 'kEUR'"),
        ("29 kUSD", "-29 kUSD", 5, "negative"),
        ("95 USD/kW-month", "95 USD/kWh", 11, "USD/kW-month is needed"),
        ("0.1 USD/Mtok", "free", 17, "is not a quantity"),
        ("input: 0.05 USD/Mtok", "inputs: 0.05 USD/Mtok", 16, "inputs"),
        ("model: llama-3.1-8b", "model: llama-3.1-9b", 14, "nearest: llama-3.1-8b"),
        ("  mi355x:", "  mi355y:", 4, "'mi355y' is no gpu of the catalogue; nearest: mi355x"),
        ("source: quote}\n    all", "source: quotes}\n    all", 5, "unknown source 'quotes'; nearest: quote"),
    ],
)
def test_what_is_wrong_names_file_and_line(
    tmp_path: Path, wrong: str, right: str, line: int, said: str
) -> None:
    assert wrong in OURS
    path = write(tmp_path, OURS.replace(wrong, right, 1))
    with pytest.raises(CatalogueError) as refused:
        load_catalogue(extra=path)
    message = str(refused.value)
    assert message.startswith(f"{path}:{line}: "), message
    assert said in message
    assert "\n" not in message


def test_every_figure_of_the_shipped_file_has_a_source_and_a_date(catalogue: Catalogue) -> None:
    for root in ("owning", "owning_terms", "planned_use"):
        for key in catalogue.ids(root):
            for _, figure in catalogue.load_entry(root, key):  # type: ignore[union-attr]
                if not isinstance(figure, str | bool | None):
                    assert figure.source.title
                    assert figure.date
    for key in catalogue.ids("hosted"):
        offer = catalogue.load_entry("hosted", key)
        assert offer.source.title  # type: ignore[union-attr]
        assert offer.date  # type: ignore[union-attr]


def test_a_catalogue_without_the_file_works_and_says_what_is_missing(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    for file in ("hardware.yaml", "models.yaml", "prices.yaml", "stacks.yaml"):
        (tmp_path / file).symlink_to(catalogue.directory / file)
    bare = load_catalogue(tmp_path)
    with pytest.raises(Unsupported, match="the catalogue has no owning_terms: inferencex"):
        own_price(bare.gpu("mi355x"), bare)
    with pytest.raises(Unsupported, match="the catalogue has no planned_use: default"):
        planned_use(bare)
    with pytest.raises(Unsupported, match="no hosted price is known"):
        hosted_price("kimi-k3", bare)


PAGE = (Path(__file__).parents[2] / "docs" / "economics.md").read_text(encoding="utf-8")


def test_the_file_that_the_page_shows_is_one(tmp_path: Path) -> None:
    text = re.search(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert text is not None
    catalogue = load_catalogue(extra=write(tmp_path, text[1]))
    terms = owned_terms(catalogue.gpu("mi355x"), catalogue).terms
    assert (terms.capex_usd_per_gpu, terms.kw_per_gpu, terms.cost_of_capital) == (29_000, 2.0, 0.08)
    assert planned_use(catalogue).utilisation == 0.55
    assert planned_use(catalogue).availability == 0.99
    assert hosted_price("kimi-k3", catalogue, "our-provider-k3").cached == 0.24


def test_the_table_of_the_page_is_what_the_catalogue_says(catalogue: Catalogue) -> None:
    rows = {cells[0]: cells[1:] for cells in _rows("| | H100 | H200")}
    gpus = ["tpu-v7" if name == "TPU v7" else name for name in rows[""]]
    for column, name in enumerate(gpus):
        card = catalogue.gpu(name)
        terms = owned_terms(card, catalogue).terms
        assert float(rows["capex, kUSD"][column]) == terms.capex_usd_per_gpu / 1e3
        assert float(rows["all-in power, kW"][column]) == pytest.approx(terms.kw_per_gpu)
        assert card.inferencex is not None
        assert float(rows["published, USD/h"][column]) == card.inferencex.own.value
        worked_out = own_price(card, catalogue).usd_per_gpu_hour
        assert float(rows["worked out, USD/h"][column]) == pytest.approx(worked_out, abs=0.0051)


def _rows(start: str) -> list[list[str]]:
    """Return the cells of the table of the page that begins so, its rule left out."""
    lines = PAGE[PAGE.index(start) :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line]
