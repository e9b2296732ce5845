"""A user's own files: they add, override, and are refused with one line that names file and line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planner.catalogue import Catalogue, load_catalogue
from planner.catalogue.documents import MAX_FILE_BYTES, Document
from planner.errors import CatalogueError, PlannerError, UnknownName
from tests.catalogue.user_catalogue import GPU, PRICES, line_with, write


def test_a_file_adds_a_gpu(tmp_path: Path) -> None:
    catalogue = load_catalogue(extra=[write(tmp_path, GPU)])
    gpu = catalogue.gpu("my x1")
    assert gpu.id == "x1"
    assert gpu.usable_bytes == pytest.approx(79.6 * 2**30)
    assert gpu.memory.driver is not None
    assert gpu.memory.driver.source.title == "Datasheet of the X1"
    assert gpu.memory.driver.date == "2026-05"
    assert catalogue.gpu('x-1: the "FIRST"').id == "x1"
    assert catalogue.gpu_ids()[-1] == "x1"
    assert len(catalogue.gpus()) == len(load_catalogue().gpus()) + 1


def test_a_file_overrides_one_figure_and_keeps_the_rest(tmp_path: Path) -> None:
    text = """\
gpus:
  b200-sxm:
    source: our own nvidia-smi
    date: 2026-10-01
    memory:
      framework: 176 GiB
    power: {tdp: 700 W}
    scale_out: {fabric: null}
"""
    shipped, mine = load_catalogue().gpu("b200"), load_catalogue(extra=[write(tmp_path, text)]).gpu("b200")
    assert mine.usable_bytes == 176 * 2**30
    assert mine.memory.framework is not None
    assert mine.memory.framework.source.title == "our own nvidia-smi"
    assert mine.memory.framework.note is None
    assert mine.tdp_watts == 700
    assert mine.scale_out.fabric is None
    assert shipped.scale_out.fabric is not None
    assert mine.memory.driver == shipped.memory.driver
    assert mine.peaks == shipped.peaks


def test_a_figure_never_keeps_the_source_or_note_of_another(tmp_path: Path) -> None:
    shipped = load_catalogue().gpu("b200").memory.marketed
    assert shipped is not None
    assert shipped.note
    assert shipped.alternatives
    text = (
        "gpus:\n  b200-sxm:\n    memory:\n      marketed: {value: 190 GB, source: 'a label', date: 2026-10}\n"
    )
    mine = load_catalogue(extra=[write(tmp_path, text)]).gpu("b200").memory.marketed
    assert mine is not None
    assert (mine.value, mine.source.title, mine.note, mine.alternatives) == (190e9, "a label", None, ())


def test_the_last_file_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tdp(watts: int, name: str) -> Path:
        text = f"gpus:\n  b200-sxm:\n    power:\n      tdp: {{value: {watts} W, source: mine, date: 2026}}\n"
        text = text.replace("source: mine", "source: 'my meter'")
        return write(tmp_path, text, name)

    first, second, third = tdp(701, "a.yaml"), tdp(702, "b.yaml"), tdp(703, "c.yaml")
    monkeypatch.setenv("PLANNER_CATALOGUE", f"{first}{os.pathsep}{second}")
    assert load_catalogue().gpu("b200").tdp_watts == 702
    assert load_catalogue(third).gpu("b200").tdp_watts == 703
    assert load_catalogue(second, extra=[third, first]).gpu("b200").tdp_watts == 701


def test_prices_are_added_by_any_name_of_the_gpu(tmp_path: Path) -> None:
    before = load_catalogue().prices("b200")
    after = load_catalogue(extra=[write(tmp_path, PRICES)]).prices("b200")
    assert len(after) == len(before) + 1
    assert (after[-1].gpu, after[-1].usd_per_gpu_hour, after[-1].date) == ("b200-sxm", 3.10, "2026-11")


def test_a_price_of_the_same_provider_kind_and_date_is_replaced(tmp_path: Path) -> None:
    old = next(price for price in load_catalogue().prices("mi355x") if price.usd_per_gpu_hour == 2.5)
    text = f"""\
prices:
  mi355x:
    - provider: {old.provider}
      usd_per_gpu_hour: 2.75 USD/h
      kind: {old.kind.value}
      source: a newer quote
      date: '{old.date}'
"""
    prices = load_catalogue(extra=[write(tmp_path, text)]).prices("mi355x")
    assert [price.usd_per_gpu_hour for price in prices if price.provider == old.provider] == [2.75]
    assert len(prices) == len(load_catalogue().prices("mi355x"))


def test_an_unusual_price_and_an_unknown_gpu_are_warned_of(tmp_path: Path) -> None:
    text = PRICES.replace("b200:", "b999:").replace("3.10", "64")
    warnings = load_catalogue(extra=[write(tmp_path, text)]).warnings
    assert any("'b999' is no gpu of the catalogue" in warning for warning in warnings)
    assert any("price for a whole server" in warning for warning in warnings)
    assert all(warning.startswith(f"{tmp_path / 'mine.yaml'}:2: prices.b999") for warning in warnings)


def test_another_directory_replaces_the_shipped_one(tmp_path: Path) -> None:
    write(tmp_path, GPU, "hardware.yaml")
    assert load_catalogue(tmp_path).gpu_ids() == ["x1"]
    with pytest.raises(CatalogueError, match=r"prices\.yaml: cannot be read: No such file"):
        load_catalogue(tmp_path).prices()


def test_the_digest_follows_every_file(tmp_path: Path) -> None:
    shipped = load_catalogue()
    assert shipped.digest == load_catalogue().digest
    assert len(shipped.digest) == 64
    assert shipped.digest.startswith(shipped.short_digest)
    one = load_catalogue(extra=[write(tmp_path, GPU)]).digest
    two = load_catalogue(extra=[write(tmp_path, GPU + "# a comment\n")]).digest
    assert len({shipped.digest, one, two}) == 3


def refused(tmp_path: Path, text: str | bytes) -> str:
    """Return the one line with which a file is refused."""
    path = write(tmp_path, text)
    with pytest.raises(PlannerError) as caught:
        load_catalogue(extra=[path])
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert "\n" not in message
    assert message.startswith(f"{path}")
    return message.removeprefix(f"{path}")


BROKEN: list[tuple[str, str | bytes, str]] = [
    ("empty", "", ": empty; expected root keys"),
    ("only a comment", "# nothing\n", ": empty"),
    ("a list at the root", "- a\n- b\n", ":1: expected a mapping with root keys"),
    ("a text at the root", "hello\n", ":1: expected a mapping with root keys"),
    ("a list under a root key", "gpus:\n  - a\n", ":1: `gpus:` must map ids to entries"),
    ("nothing under a root key", "gpus:\n", ":1: `gpus:` must map ids to entries"),
    ("an unknown root key", "gpus_: {a: {}}\n", ":1: unknown root key 'gpus_'; nearest: gpus"),
    ("an open bracket", "gpus:\n  a: [1, 2\n", ":3:1: not valid YAML"),
    ("a tab", "gpus:\n\ta:\n", ":2:1: not valid YAML: found character that cannot start any token"),
    ("bad indentation", "gpus:\n  a:\n    b: 1\n   c: 2\n", ":4:4: not valid YAML"),
    ("an open quote", 'gpus:\n  a:\n    name: "x\n', ":4:1: not valid YAML"),
    ("an alias", "gpus:\n  a: &x {name: b}\n  c: *x\n", ":2:6: YAML aliases"),
    ("a recursive alias", "gpus:\n  a: &x {b: *x}\n", ":2:6: YAML aliases"),
    (
        "a billion laughs",
        "gpus:\n  a: &a [x, x]\n  b: &b [*a, *a]\n  c: &c [*b, *b]\n  d: [*c, *c]\n",
        ":2:6: YAML aliases",
    ),
    ("a tag", "gpus:\n  a: !!python/object/apply:os.system [ls]\n", ":2:6: YAML tags are not allowed"),
    ("deep nesting", "gpus:\n  a: " + "[" * 100 + "]" * 100 + "\n", "nested deeper than 40"),
    ("deeper nesting", "gpus:\n  a: " + "[" * 50_000, "not valid YAML: exceeded maximum nesting depth"),
    ("a giant number", "gpus:\n  a: {devices: " + "9" * 5000 + "}\n", ":2:16: a number of 5000 characters"),
    (
        "two documents",
        "gpus:\n  a: 1\n---\ngpus:\n  b: 2\n",
        ":3:1: not valid YAML: but found another document",
    ),
    ("a binary file", bytes(range(256)), ":2: not UTF-8 text"),
    ("a NUL", b"gpus:\n  a: \0\n", ": a binary file"),
    ("Latin-1", "gpus:\n  a: {name: é}\n".encode("latin-1"), ":2: not UTF-8 text"),
    ("an entry that is text", "gpus:\n  a: hello\n", ":2: gpus.a: expected a mapping of fields"),
    ("a mapping as a key", "gpus:\n  ? {a: b}\n  : 1\n", ":2:5: a key must be plain text"),
]


@pytest.mark.parametrize(("text", "said"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_broken_files_are_refused_in_one_line(tmp_path: Path, text: str | bytes, said: str) -> None:
    assert said in refused(tmp_path, text)


CHANGED: list[tuple[str, str, str, str]] = [
    (
        "a key twice",
        "    status: available\n",
        "    vendor: Else\n    status: available\n",
        "key 'vendor' is given twice; first at ",
    ),
    ("an unknown field", "    status: available\n", "    statsu: available\n", "nearest: status"),
    ("an unknown field inside", "      driver: {value", "      drivers: {value", "nearest: driver"),
    ("an unknown field of a figure", "79.6 GiB, source", "79.6 GiB, sauce: x, source", "nearest: source"),
    ("a wrong unit", "79.6 GiB", "79.6 GB/s", "is in bytes/s, but bytes is needed, like 80 GB"),
    ("bits for bytes", "450 GB/s", "3600 Gb/s", "3600 Gb/s = 450 GB/s"),
    ("an unknown unit", "79.6 GiB", "79.6 Gig", "unknown unit 'Gig'"),
    ("a bare number", "79.6 GiB", "79.6", "'79.6' has no unit; write it like 80 GB"),
    ("not a number", "79.6 GiB", ".nan", "'.nan' is not a quantity"),
    ("infinity", "79.6 GiB", ".inf", "'.inf' is not a quantity"),
    ("negative", "79.6 GiB", "-79.6 GiB", "is negative"),
    ("zero", "79.6 GiB", "0 GiB", "greater than 0"),
    (
        "an unknown source",
        "79.6 GiB, source: my-datasheet",
        "79.6 GiB, source: my-datashet",
        "nearest: my-datasheet",
    ),
    ("no source", "79.6 GiB, source: my-datasheet", "79.6 GiB", "no source"),
    ("an undated source", "79.6 GiB, source: my-datasheet", "79.6 GiB, source: 'a page'", "undated"),
    ("a bad date", "date: 2026-05}", "date: May 2026}", "'May 2026' is not a date; write it like 2026-09-30"),
    ("a number for text", "    vendor: Nobody\n", "    vendor: 12\n", "expected text, not 12"),
    ("a text for a list", "    aliases:\n", "    notes: a text\n    aliases:\n", "notes: "),
    (
        "an unknown topology",
        "topology: switch",
        "topology: star",
        "'switch', 'mesh', 'torus', 'pcie' or 'none'",
    ),
    ("a missing field", "    vendor: Nobody\n", "", "vendor: is missing"),
]


@pytest.mark.parametrize(
    ("old", "new", "said"), [case[1:] for case in CHANGED], ids=[case[0] for case in CHANGED]
)
def test_wrong_entries_are_refused_with_field_and_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert GPU.count(old) >= 1
    text = GPU.replace(old, new, 1)
    message = refused(tmp_path, text)
    assert said in message
    place = new.strip().split("\n")[0] if new.strip() else "  x1:"
    assert message.startswith(f":{line_with(text, place)}:")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("3.10 USD/h", "9.99 USD/h", "9.99 USD/h is a placeholder"),
        ("3.10 USD/h", "0.01 USD/h", "0.01 USD/h is a placeholder"),
        ("3.10 USD/h", "3.10", "has no unit"),
        ("3.10 USD/h", "-3 USD/h", "negative"),
        ("3.10 USD/h", "0 USD/h", "greater than 0"),
        ("3.10 USD/h", ".nan", "not a quantity"),
        ("      date: 2026-11\n", "", "undated"),
        ("kind: on-demand", "kind: cheap", "'on-demand', 'spot'"),
        ("provider:", "vendor:", "provider"),
    ],
)
def test_bad_prices_are_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    message = refused(tmp_path, PRICES.replace(old, new))
    assert said in message
    assert ": prices." in message


def test_a_missing_and_a_huge_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"absent\.yaml: cannot be read: No such file or directory"):
        load_catalogue(extra=[tmp_path / "absent.yaml"])
    with pytest.raises(CatalogueError, match="cannot be read: Is a directory"):
        load_catalogue(extra=[tmp_path])
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(CatalogueError, match="larger than 16 MiB"):
        load_catalogue(extra=[huge])


def test_any_layout_says_the_same(tmp_path: Path) -> None:
    """Files that cannot be cut into entries are parsed whole, with the same result and the same lines."""
    import yaml

    flow = yaml.safe_dump(yaml.safe_load(GPU), default_flow_style=True, width=10**6)
    wide = (
        GPU.replace("\n  ", "\n      ")
        .replace("sources:\n      ", "sources:\n   ")
        .replace("gpus:\n      ", "gpus:\n   ")
    )
    quoted = GPU.replace("    status: available\n", '    status: "available\n  or: not"\n')
    windows = GPU.replace("\n", "\r\n")
    marked = "\ufeff---\n" + GPU
    expected = load_catalogue(extra=[write(tmp_path, GPU, "plain.yaml")]).gpu("x1")
    for name, text in {"flow": flow, "wide": wide, "windows": windows, "marked": marked}.items():
        catalogue = load_catalogue(extra=[write(tmp_path, text, f"{name}.yaml")])
        assert catalogue.gpu("x1") == expected, name
        assert catalogue.gpu("MY X1") == expected, name
    assert (
        load_catalogue(extra=[write(tmp_path, quoted, "quoted.yaml")]).gpu("x1").status == "available or: not"
    )


def test_one_entry_is_read_without_the_others(tmp_path: Path) -> None:
    """A broken neighbour does not disturb an entry until somebody asks for it."""
    text = GPU + "  broken:\n    name: [1, 2\n"
    write(tmp_path, text, "hardware.yaml")
    catalogue = Catalogue(tmp_path)
    assert catalogue.gpu("x1").id == "x1"
    with pytest.raises(CatalogueError, match=r"hardware\.yaml:\d+:1: not valid YAML"):
        catalogue.gpu("broken")


def test_slices_know_their_lines(tmp_path: Path) -> None:
    document = Document(write(tmp_path, GPU))
    entry = document.entry("gpus", "x1")
    assert entry.line_of(("peaks", "fp8", "value")) == line_with(GPU, "fp8:")
    assert entry.line_of(("no", "such")) == line_with(GPU, "  x1:")
    assert document.line_of_root("gpus") == line_with(GPU, "gpus:")


@pytest.mark.parametrize(
    "style", ["    aliases: [One, 'T: wo']\n", "    aliases:\n    - One\n    - 'T: wo'  # two\n"]
)
def test_aliases_in_any_style(tmp_path: Path, style: str) -> None:
    model = f"models:\n  tiny:\n    name: Tiny\n{style}    config_status: published\n    config: {{}}\n"
    catalogue = load_catalogue(extra=[write(tmp_path, model)])
    assert catalogue.model("one").id == "tiny"
    assert catalogue.model("T: WO").id == "tiny"
    assert catalogue.aliases("models", "tiny") == ["One", "T: wo"]


def test_names_are_resolved(catalogue: Catalogue) -> None:
    for name in ("B200", "b200-sxm", "NVIDIA b200", "hgx_b200", "  B200 "):
        assert catalogue.gpu(name).id == "b200-sxm"
    assert (
        catalogue.gpu("RTX 4090").id == catalogue.gpu("rtx_4090").id == catalogue.gpu("4090").id == "rtx-4090"
    )
    with pytest.raises(UnknownName, match="unknown gpu 'b20'; nearest: b200, "):
        catalogue.gpu("b20")
    with pytest.raises(UnknownName, match="may be any of b200-sxm, gb200-nvl72"):
        catalogue.gpu("b200 / gb200")
    with pytest.raises(UnknownName, match=r"MI308X' stands for no single gpu.*quarter of the compute"):
        catalogue.gpu("MI308X")
    with pytest.raises(UnknownName):
        catalogue.gpu("")
    with pytest.raises(UnknownName, match="price kind 'spott'; nearest: spot"):
        catalogue.prices("b200", "spott")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("driver: {value: 79.6 GiB", "framework: {value: 400 TB", "is not the memory of one accelerator"),
        ("marketed: {value: 80 GB", "marketed: {value: 80 MB", "is not the memory of one accelerator"),
        ("value: 3.35 TB/s", "value: 3350 TB/s", "is above the 100 TB/s of any device memory"),
        ("gpus: {value: 8,", "gpus: {value: 80000,", "is no number of GPUs of a server"),
        ("gpus: {value: 8,", "gpus: {value: 7.5,", "is no number of GPUs of a server"),
    ],
)
def test_sizes_that_no_accelerator_has_are_refused(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    assert before in GPU
    with pytest.raises(CatalogueError, match=message):
        load_catalogue(extra=[write(tmp_path, GPU.replace(before, after))])


def test_one_file_needs_no_list(tmp_path: Path) -> None:
    path = write(tmp_path, GPU)
    assert load_catalogue(extra=str(path)).digest == load_catalogue(extra=[path]).digest


@pytest.mark.parametrize("name", ["", "  ", None, 5])
def test_what_is_no_name_is_said_to_be_none(name: object) -> None:
    with pytest.raises(
        UnknownName, match=r"^gpu .* is no name; an id or an alias of the catalogue is needed$"
    ):
        load_catalogue().gpu(name)  # type: ignore[arg-type]


def test_a_long_file_of_prices_under_unknown_names_is_read_without_a_search_for_near_ones(
    tmp_path, monkeypatch
):
    file = tmp_path / "ours.yaml"
    file.write_text("prices:\n" + "".join(f"  name-{number}: []\n" for number in range(2000)))
    monkeypatch.setattr("planner.errors.difflib.get_close_matches", None)
    assert load_catalogue(extra=[file]).prices("b200-sxm")
