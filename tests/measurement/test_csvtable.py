"""CSV files, good and bad: each bad one gets one line that says where it is wrong and what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InvalidInput
from planner.measurement.csvtable import read_csv, recognise

HEADER = "engine,model,gpu,tp,weights_gib"


def written(tmp_path: Path, content: str | bytes, name: str = "logs.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(tmp_path: Path, content: str | bytes) -> str:
    with pytest.raises(InvalidInput) as caught:
        recognise(read_csv(written(tmp_path, content)))
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_lines_are_counted_as_an_editor_counts_them(tmp_path: Path) -> None:
    text = f'{HEADER}\nvLLM,a,H100,1,1\n\nvLLM,"two\nlines",H100,1,2\nvLLM,c,H100,1,3\n'
    table = read_csv(written(tmp_path, text))
    assert [(row.line, row.cells["weights_gib"]) for row in table.rows] == [(2, "1"), (4, "2"), (6, "3")]
    assert table.rows[1].cells["model"] == "two\nlines"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_byte_order_mark_and_line_endings_change_nothing(tmp_path: Path, mark: bytes, ending: str) -> None:
    content = mark + f"{HEADER}{ending} vLLM ,Möbius,H100,1,1.5{ending}".encode()
    table = read_csv(written(tmp_path, content))
    assert table.columns == tuple(HEADER.split(","))
    assert table.rows[0].cells == {
        "engine": "vLLM",
        "model": "Möbius",
        "gpu": "H100",
        "tp": "1",
        "weights_gib": "1.5",
    }


@pytest.mark.parametrize(
    ("content", "where", "what"),
    [
        (b"", ":1:", "empty"),
        (b"\n\n", ":1:", "empty"),
        (HEADER, ":1:", "no rows"),
        (f"{HEADER}\nvLLM,a,H100,1\n", ":2:", "4 values, but the header has 5"),
        (f"{HEADER}\nvLLM,a,H100,1,1\nvLLM,a,H100,1,1,9\n", ":3:", "6 values"),
        (f"{HEADER}\nvLLM,a\0b,H100,1,1\n", ":2:", "NUL byte"),
        (f"{HEADER}\nvLLM,a,H100,1,1\n".encode() + b"vLLM,M\xf6bius,H100,1,1\n", ":3:", "0xf6 is not UTF-8"),
        (f"{HEADER}\nvLLM,a,H100,1,1\n".encode("utf-16"), ":1:", "UTF-16"),
        (HEADER.replace(",", ";") + "\nvLLM;a;H100;1;1\n", ":1:", "not separated by commas"),
        (f"{HEADER},tp\nvLLM,a,H100,1,1,1\n", ":1:", "'tp' is named twice"),
        (f"{HEADER},\nvLLM,a,H100,1,1,1\n", ":1:", "column 6 has no name"),
        (f'{HEADER}\nvLLM,"a,H100,1,1\n', ":2:", "not a valid CSV row"),
        ("engine,model,card,tp,weights_gib\nvLLM,a,H100,1,1\n", ":1:", "no column gpu"),
        (
            "engine,modell,gpu,tp,weights_gib\nvLLM,a,H100,1,1\n",
            ":1:",
            "no column model (is 'modell' meant?)",
        ),
        ("engine,model,gpu,weights_gib\nvLLM,a,H100,1\n", ":1:", "no column one of tp, n_gpus"),
        ("engine,model,gpu,tp\nvLLM,a,H100,1\n", ":1:", "weights_gib"),
        ("a,b\n1,2\n", ":1:", "no column engine"),
    ],
)
def test_bad_files_are_refused_in_one_line(
    tmp_path: Path, content: str | bytes, where: str, what: str
) -> None:
    message = refusal(tmp_path, content)
    assert where in message
    assert what in message


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path, said in ((tmp_path / "missing.csv", "cannot be read"), (tmp_path, "is a folder")):
        with pytest.raises(InvalidInput, match=said):
            read_csv(path)


def test_a_value_too_long_for_a_cell_is_refused(tmp_path: Path) -> None:
    assert "field larger than" in refusal(tmp_path, f"{HEADER}\nvLLM,{'a' * 200_000},H100,1,1\n")


def test_both_kinds_are_recognised(tmp_path: Path) -> None:
    logs = read_csv(written(tmp_path, f"{HEADER},more\nvLLM,a,H100,1,1,x\n"))
    assert recognise(logs) == "start-up logs"
    tidy = "model,gpu,engine,n_gpus,isl,osl,concurrency,output_tps_per_gpu\na,H100,vllm,1,1,1,1,1\n"
    assert recognise(read_csv(written(tmp_path, tidy))) == "serving points"


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = written(tmp_path_factory.mktemp("any"), content)
    try:
        table = read_csv(path)
    except InvalidInput as error:
        assert str(path) in str(error)  # noqa: PT017 - either outcome is right
    else:
        assert all(len(row.cells) == len(table.columns) for row in table.rows)
