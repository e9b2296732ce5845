"""What files do not say, runs that are known already, figures that disagree, and files bad on purpose."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planner
from planner.errors import InvalidInput
from planner.measurement.importers.importing import Imported, Names, import_results, read_file
from planner.measurement.importers.settings import stated
from planner.measurement.serving import load_serving_points

DATA = Path(__file__).parents[2] / "data"
VLLM = DATA / "bench_files" / "vllm" / "bench_serve_gptoss_h200_tp8_conc64.json"
AIPERF = DATA / "bench_files" / "aiperf"
KIMI = "kimi_k3_h200x16_agentx-mvp-pp2-humming-c2_profile_export_aiperf"
SAID = {"model": "gpt-oss-120b", "gpu": "h200", "n_gpus": "8"}


@pytest.fixture(scope="module")
def names(catalogue) -> Names:
    return Names(catalogue)


@pytest.fixture
def run(catalogue, tmp_path):
    """Import files into a folder of the test."""

    def go(*paths: Path, dry_run: bool = False, **said: str) -> Imported:
        folder = tmp_path / "mine"
        return import_results(paths, {**SAID, **said}, catalogue=catalogue, folder=folder, dry_run=dry_run)

    return go


def _result(**changes: object) -> dict[str, object]:
    return {**json.loads(VLLM.read_text()), **changes}


def _write(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data))
    return path


def test_a_run_is_kept_once_in_whichever_format(run, tmp_path) -> None:
    pair = [AIPERF / f"{KIMI}.json", AIPERF / f"{KIMI}.csv"]
    first = run(*pair, n_gpus="16", model="kimi-k3")
    assert first.added == 1
    assert [len(file.repeated) for file in first.files] == [0, 1]
    again = run(VLLM, *pair, n_gpus="16", model="kimi-k3")
    assert again.added == 1
    assert sum(len(file.repeated) for file in again.files) == 2
    assert again.complete
    points = load_serving_points((tmp_path / "mine" / "serving").glob("*.csv"))
    assert sorted(point.output_tps_total for point in points) == pytest.approx(
        [36.17943264456, 3020.60046553]
    )


def test_of_two_reports_of_a_run_the_one_that_says_more_is_kept(run, tmp_path) -> None:
    done = run(AIPERF / f"{KIMI}.csv", AIPERF / f"{KIMI}.json", n_gpus="16", model="kimi-k3")
    assert [len(file.repeated) for file in done.files] == [1, 0]
    (point,) = load_serving_points((tmp_path / "mine" / "serving").glob("*.csv"))
    assert point.ttft_ms_mean == pytest.approx(7087.7124868684, rel=1e-11)


def test_a_result_of_any_length_may_stand_on_one_line(tmp_path, names) -> None:
    path = _write(tmp_path / "detailed.json", _result(itls=[[0.020053372580770] * 1000] * 1000))
    assert path.stat().st_size > 17 * 2**20
    (row,) = read_file(str(path), SAID, names).serving
    assert row.cells["output_tps_total"] == "3020.60046553"


def test_a_date_that_is_none_is_refused(catalogue, tmp_path) -> None:
    with pytest.raises(InvalidInput, match="date: 'yesterday' is no date; write it like 2026-11-30"):
        planner.import_results(VLLM, date="yesterday", catalogue=catalogue, into=tmp_path)


def test_a_dry_run_writes_nothing(run, tmp_path) -> None:
    done = run(VLLM, dry_run=True)
    assert done.added == 1
    assert not (tmp_path / "mine").exists()


def test_one_bad_file_does_not_keep_the_others_from_being_imported(run, tmp_path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"output_throughput": ')
    done = run(bad, tmp_path / "absent.json", VLLM)
    assert done.added == 1
    assert not done.complete
    assert [file.rows for file in done.files] == [0, 0, 1]
    assert [len(file.problems) for file in done.files] == [1, 1, 0]


def test_sidecars_say_what_files_do_not_and_options_go_first(run, tmp_path, names) -> None:
    file = tmp_path / "result.json"
    file.write_bytes(VLLM.read_bytes())
    (tmp_path / "planner-import.yaml").write_text("gpu: h200\ngpus: 8\ntp: 8\nengine: vllm==0.22.0\n")
    (tmp_path / "result.json.planner.yaml").write_text("tp: 4\n")
    cells = read_file(str(file), {"model": "gpt-oss-120b", "gpu": "b200"}, names).serving[0].cells
    assert (cells["gpu"], cells["n_gpus"], cells["tp"]) == ("b200", "8", "4")
    assert (cells["engine"], cells["engine_version"]) == ("vllm", "0.22.0")


SIDECARS = {
    "a: &a [1]\ngpu: *a\n": "unknown key 'a'|aliases",
    "gpu: &x h200\nmodel: *x\n": "aliases",
    "gpu: h200\ngpu: b200\n": "given twice",
    "gpuz: h200\n": "2|unknown key 'gpuz'; is 'gpu' meant",
    "- gpu\n": "a mapping such as",
    "gpu: [h200]\n": "no single value",
    "date: yesterday\n": "date: 'yesterday' is no date",
    "gpu: {" * 200: "not valid YAML|nested deeper",
    "tp: \x00": "not valid YAML",
}


@pytest.mark.parametrize("text", SIDECARS)
def test_a_bad_sidecar_is_one_line_with_its_place(text, tmp_path, names) -> None:
    file = tmp_path / "result.json"
    file.write_bytes(VLLM.read_bytes())
    (tmp_path / "planner-import.yaml").write_text(text)
    found = read_file(str(file), SAID, names)
    assert not found.rows
    (line,) = found.problems
    assert "planner-import.yaml" in line
    assert any(part in line for part in SIDECARS[text].split("|"))


def test_what_the_file_says_of_sizes_stands_against_an_option(names) -> None:
    api = DATA / "bench_files" / "inferencex" / "agg_kimik2.5_mi355x_8k1k_conc32.json"
    found = read_file(str(api), {"tp": "4", "engine_version": "mine"}, names)
    assert found.serving[0].cells["tp"] == "8"
    assert found.serving[0].cells["engine_version"] == "mine"
    assert any("--tp: the file says 8, which stands" in line for line in found.warnings)


def test_an_output_rate_by_decoding_gpus_becomes_one_by_all(tmp_path, names) -> None:
    """As docs/import.md has it: 1,000 tok/s by 32 of 40 GPUs are 800 by all of them."""
    rows = json.loads((DATA / "bench_files" / "inferencex" / "api_benchmarks_subset.json").read_text())
    row = next(row for row in rows if row["num_prefill_gpu"] == 8 and row["num_decode_gpu"] == 32)
    row["metrics"] |= {"output_tput_per_gpu": 1000.0, "input_tput_per_gpu": 4000.0, "tput_per_gpu": 1600.0}
    cells = read_file(str(_write(tmp_path / "r.json", [row])), {}, names).serving[0].cells
    assert (cells["n_gpus"], cells["output_tps_per_gpu"], cells["output_tps_total"]) == ("40", "800", "32000")
    row["metrics"]["tput_per_gpu"] = 2000.0
    cells = read_file(str(_write(tmp_path / "r.json", [row])), {}, names).serving[0].cells
    assert cells["output_tps_per_gpu"] == ""
    assert "check: input and output by their GPUs are 64000 tok/s, the whole 80000" in cells["notes"]


DOUBTS = {
    "output rate x duration": {"output_throughput": 2000.0},
    "total rate x duration": {"total_token_throughput": 3000.0},
    "(TTFT + TPOT x (OSL - 1)) / E2E": {"mean_tpot_ms": 0.0198},
    "the 99th percentile of TTFT is below": {"p99_ttft_ms": 3.1},
    "output/(concurrency x tok/s/user) = 0.059": {"max_concurrency": 1024},
}


@pytest.mark.parametrize("doubt", DOUBTS)
def test_figures_that_disagree_are_kept_and_marked(doubt, tmp_path, names) -> None:
    found = read_file(str(_write(tmp_path / "r.json", _result(**DOUBTS[doubt]))), SAID, names)
    (row,) = found.serving
    assert f"check: {doubt}" in row.cells["notes"]
    assert any(doubt in line for line in found.warnings)


def test_seconds_are_never_taken_for_milliseconds(tmp_path, names) -> None:
    """AIPerf states each unit; another one is converted, and an unknown one is refused, not guessed."""
    data = json.loads((AIPERF / f"{KIMI}.json").read_text())
    data["time_to_first_token"] |= {"unit": "s", "avg": 7.0877, "p50": 6.7705, "p99": 9.7273}
    cells = read_file(str(_write(tmp_path / "s.json", data)), SAID, names).serving[0].cells
    assert float(cells["ttft_ms_median"]) == pytest.approx(6770.5)
    data["time_to_first_token"]["unit"] = "parsec"
    found = read_file(str(_write(tmp_path / "p.json", data)), SAID, names)
    assert found.serving[0].cells["ttft_ms_median"] == ""
    assert "the unit of time_to_first_token is 'parsec'" in found.problems[0]


def test_good_rows_of_a_list_that_breaks_off_are_kept(tmp_path, names) -> None:
    whole = (DATA / "bench_files" / "inferencex" / "results_agg_dsr1_8k1k.json").read_text()
    cut = tmp_path / "cut.json"
    cut.write_text(whole[: len(whole) // 2])
    found = read_file(str(cut), {"isl": "8192", "osl": "1024"}, names)
    assert 15 < len(found.serving) < 25
    place = re.escape(str(cut)) + r":\d+"
    kept = f"the {len(found.serving)} items before it are read"
    assert re.fullmatch(f"{place}: not valid JSON from here; {kept}", found.problems[0])


def test_good_lines_are_kept_and_each_bad_one_is_named(tmp_path, names) -> None:
    good = json.dumps(_result())
    twice = '{"output_throughput": 1, "output_throughput": 2, "total_output_tokens": 3}'
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join([good, "{broken", "[1]", twice, json.dumps(_result(median_ttft_ms="fast"))]))
    found = read_file(str(path), SAID, names)
    assert len(found.serving) == 2
    assert [line.split(str(path))[1].split(" ")[0] for line in found.problems] == [":2:", ":3:", ":4:", ":5:"]
    assert "given twice" in found.problems[2]
    assert "median_ttft_ms is 'fast'; a number" in found.problems[3]


def test_nan_and_infinity_are_as_good_as_absent(tmp_path, names) -> None:
    path = tmp_path / "nan.json"
    path.write_text(json.dumps(_result(median_ttft_ms=float("nan"), request_rate=float("inf"))))
    (row,) = read_file(str(path), SAID, names).serving
    assert (row.cells["ttft_ms_median"], row.cells["request_rate"]) == ("", "inf")


BAD = {
    b"": "the file is empty",
    b"  \n\n": "the file is empty",
    b"PK\x03\x04rest": "a zip archive",
    b"\x1f\x8b\x08": "a gzip file",
    b"text\x00more": "a NUL byte",
    b"\xff\xfea\x00": "UTF-16",
    b'{"a": "\xe9"}': "not UTF-8",
    b"[" * 200_000: "nested too deeply",
    b'{"a":' * 5000 + b"1" + b"}" * 5000: "nested too deeply",
    b'{"n": ' + b"9" * 5000 + b"}": "digits",
    b"3": "in no known format",
    b'"text"': "in no known format",
    b"[1, 2]": "no JSON object",
    b"[]": "no results in it",
    b'{"a": 1}': "no known result (its keys: a)",
    b"model,gpu\nx,y\n": "in no known format",
    b'Metric,avg\n"broken\n': "not a valid CSV row",
    b"==== Serving Benchmark Result ====\nSuccessful requests: 3\n": "without an output token",
    b"INFO Initializing a V1 LLM engine (v0.9.1) with config: model='m'\n": "prints nothing of memory",
}


@pytest.mark.parametrize("raw", BAD)
def test_a_bad_file_is_one_line_with_its_name(raw, tmp_path, names) -> None:
    path = tmp_path / "bad"
    path.write_bytes(raw)
    found = read_file(str(path), SAID, names)
    assert not found.rows
    assert BAD[raw] in found.problems[-1]
    assert all(str(path) in line and "\n" not in line for line in found.problems)


def test_what_is_no_file_is_one_line(tmp_path, names) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    wanted = {
        "loop": "cannot be read",
        "pipe": "no regular file",
        ".": "a directory",
        "a\0b": "NUL byte in its name",
    }
    for name, why in wanted.items():
        found = read_file(str(tmp_path / name) if "\0" not in name else name, SAID, names)
        assert why in found.problems[0], name


def test_a_file_that_is_too_large_is_not_read(tmp_path, names) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.write(b"{")
        file.truncate(257 * 2**20)
    assert "larger than 256 MiB" in read_file(str(tmp_path / "huge.json"), SAID, names).problems[0]


def test_the_front_door_refuses_what_cannot_be_stated(catalogue, tmp_path) -> None:
    with pytest.raises(InvalidInput, match="'gpuss' is nothing that can be stated of a run; is 'gpus' meant"):
        planner.import_results(VLLM, gpuss=8, catalogue=catalogue, into=tmp_path)
    report = planner.import_results(VLLM, gpu="h200", gpus=8, catalogue=catalogue, into=tmp_path)
    assert report.complete
    assert report.to_records()[0]["output_tps_total"] == pytest.approx(3020.600465529602)
    assert report.to_dict()["schema"] == "planner.import/1"
    assert "<table>" in report._repr_html_()
    assert len(report.to_csv().splitlines()) == 2


SMALL = [
    path
    for path in sorted((*(DATA / "bench_files").rglob("*.*"), *(DATA / "bench_samples").glob("*.*")))
    if path.stat().st_size < 20_000 and path.suffix != ".md" and path.name != "index.csv"
]


@settings(max_examples=150)
@given(path=st.sampled_from(SMALL), data=st.data())
def test_no_mutation_of_a_file_raises(path, data, names, tmp_path_factory) -> None:
    raw = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    new = data.draw(
        st.binary(max_size=8) | st.sampled_from([b"[" * 3000, b"NaN", b"1e999", b'"', b"{}", b"-1"])
    )
    raw[place : place + data.draw(st.integers(0, 400))] = new
    target = tmp_path_factory.getbasetemp() / "mutated"
    target.write_bytes(raw)
    found = read_file(str(target), SAID, names)
    assert found.rows or found.incomplete or found.problems
    assert all(str(target) in line and "\n" not in line for line in found.problems)


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="the file that cannot be read is of Linux")
def test_a_file_that_fails_while_it_is_read_is_one_line(names) -> None:
    found = read_file("/proc/self/mem", SAID, names)
    assert found.problems == ["/proc/self/mem: cannot be read: Input/output error"]


@pytest.mark.parametrize("name", ["two\nlines.json", "red\x1b[31m.json", os.fsdecode(b"latin-\xe9.json")])
def test_a_name_of_control_characters_is_shown_without_them(name, run, tmp_path) -> None:
    path = tmp_path / name
    path.write_text(VLLM.read_text())
    imported = run(path)
    assert imported.added == 1
    shown = imported.files[0].file
    assert shown.isprintable()
    assert shown.encode()
    assert imported.files[0].serving[0].cells["source_url"].isprintable()


def test_what_is_stated_is_kept_on_one_line_without_control_characters(tmp_path) -> None:
    assert stated({"model": "a\x1b[31m\nb", "notes": "x" * 300}) == {"model": "a [31m b", "notes": "x" * 300}
