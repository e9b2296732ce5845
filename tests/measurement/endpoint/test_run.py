"""Whole runs: read back within 2 %, kept as they go, interrupted, resumed, and silent about the key."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from planner.cli.entry import run as planner
from planner.errors import InvalidInput
from planner.measurement.endpoint.journal import read_journal
from planner.measurement.endpoint.records import Endpoint, EndpointLoad
from planner.measurement.endpoint.run import measure_endpoint
from planner.measurement.endpoint.summary import summarise_point
from planner.measurement.serving_points import load_serving
from tests.measurement.endpoint.servers import GOOD, answering, reference, reply, serving

KEY = "sk-very-secret-1234567890"
SMALL = ("--isl", "16", "--osl", "4", "--requests", "6", "--warmup", "2")


@pytest.fixture(scope="module")
def quick():
    with reference("--ttft-ms", "5", "--itl-ms", "1") as url:
        yield url


@pytest.mark.parametrize("api", ["completions", "chat"])
def test_known_delays_are_read_back_within_2_percent(tmp_path, api):
    with reference("--ttft-ms", "600", "--itl-ms", "80", "--cv", "0.05", "--seed", "3") as url:
        load = EndpointLoad(concurrency=(4,), isl=64, osl=6, requests=8, warmup=4)
        run = measure_endpoint(Endpoint(url=url, api=api), load, save=tmp_path / "run.jsonl")
        with urllib.request.urlopen(f"{url}/recorded") as answer:
            sent = json.load(answer)[-8:]
    found = summarise_point(run.points[0], load)
    # Against what the server recorded, so that a busy machine does not count as an error of the client.
    ttft = np.median([one["sent_s"][0] - one["received_s"] for one in sent])
    tpot = np.median([(one["sent_s"][-1] - one["sent_s"][0]) / 5 for one in sent])
    e2e = np.median([one["sent_s"][-1] - one["received_s"] for one in sent])
    assert found.ttft_s.p50 == pytest.approx(ttft, rel=0.02)
    assert found.tpot_s.p50 == pytest.approx(tpot, rel=0.02)
    assert found.e2e_s.p50 == pytest.approx(e2e, rel=0.02)
    assert (found.isl, found.osl, found.requests, found.errors) == (64, 6, 8, {})
    # Four users, each of whom begins again after E2E.
    assert found.output_tps == pytest.approx(4 * 6 / e2e, rel=0.05)


def test_an_open_loop_sends_at_its_times(tmp_path, quick):
    load = EndpointLoad(rate_per_s=40.0, arrivals="fixed", isl=16, osl=4, requests=40, warmup=0)
    run = measure_endpoint(Endpoint(url=quick), load, save=tmp_path / "run.jsonl")
    outcomes = sorted(run.points[0].outcomes, key=lambda one: one.number)
    assert [one.sent_s - one.late_s for one in outcomes] == pytest.approx([n / 40 for n in range(40)])
    assert min(one.late_s for one in outcomes) > -0.002
    assert np.median([one.late_s for one in outcomes]) < 0.02


def measured(capsys, *words):
    code = planner(("measure", "endpoint", *words))
    out, err = capsys.readouterr()
    return code, out, err


def test_a_run_is_shown_kept_and_read_as_measurements(capsys, tmp_path, quick):
    code, out, err = measured(
        capsys,
        *(quick, *SMALL, "--concurrency", "1,2", "--json"),
        *("--model", "llama-3.1-8b", "--gpu", "h200", "--gpus", "2", "--tp", "2"),
        *("--engine", "vllm==0.20.2", "--weight-dtype", "bf16"),
    )
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["schema"] == "planner.measure-endpoint/1"
    assert [point["concurrency"] for point in answer["points"]] == [1, 2]
    point = answer["points"][1]
    assert point["requests"] == 6
    assert 5 <= point["ttft_ms_median"] < 500
    assert (point["isl_tokens"], point["osl_tokens"]) == (16, 4)
    rows = load_serving(tmp_path / "measurements" / "serving" / "endpoint.csv")
    assert [(row.concurrency, row.n_gpus, row.tp, row.engine_version) for row in rows] == [
        (1, 2, 2, "0.20.2"),
        (2, 2, 2, "0.20.2"),
    ]
    assert rows[1].output_tps_per_gpu == pytest.approx(point["output_tps"] / 2, rel=1e-4)
    assert rows[1].ttft_ms_median == pytest.approx(point["ttft_ms_median"], rel=1e-4)
    assert rows[0].model == "llama-3.1-8b"


def test_tables_and_csv_name_units(capsys, tmp_path, quick):
    code, out, _ = measured(capsys, quick, *SMALL, "--rate", "50", "--save", str(tmp_path / "a.jsonl"))
    assert code == 0
    assert all(
        word in out for word in ("median", "mean", "p90", "p99", "TTFT, ms", "E2E, s", "50 requests/s")
    )
    assert "nothing among your measurements: --gpu and --gpus" in " ".join(out.split())
    code, out, _ = measured(capsys, quick, *SMALL, "--concurrency", "2", "--csv")
    rows = list(csv.DictReader(out.splitlines()))
    assert code == 0
    assert float(rows[0]["e2e_s_p99"]) > 0


def test_the_key_goes_to_the_server_and_nowhere_else(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    telling = reply({"error": {"message": f"key {KEY} has no credit"}}, "429 Too Many Requests")
    words = ("--isl", "32", "--osl", "2", "--requests", "4", "--warmup", "0", "--concurrency", "2")
    with serving(answering(telling, after=4)) as server:
        code, out, err = measured(capsys, server.url, *words, "--api-key-env", "MY_KEY", "--json")
        assert all(fields["authorization"] == f"Bearer {KEY}" for _, _, fields, _ in server.heard)
        shown = measured(capsys, server.url, *words, "--api-key-env", "MY_KEY")
    assert code == 0
    assert json.loads(out)["points"][0]["errors"] == {"http-429": 2}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY in path.read_text()]
    assert KEY not in out + err + "".join(map(str, shown))
    assert "key *** has no credit" in out


def test_a_key_that_is_refused_is_not_shown(capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(lambda *_: reply({"error": {"message": f"bad {KEY}"}}, "401 Unauthorized")) as server:
        code, out, err = measured(capsys, server.url, *SMALL, "--concurrency", "1", "--debug")
        code, out, err = measured(capsys, server.url, *SMALL, "--concurrency", "1")
    assert (code, out) == (2, "")
    assert "OPENAI_API_KEY" in err
    assert KEY not in err


def test_a_server_that_fails_all_along_is_told_and_exits_2(capsys):
    failing = reply({"error": {"message": "out of memory"}}, "500 Internal Server Error")
    with serving(answering(failing, after=2)) as server:
        code, out, _ = measured(capsys, server.url, *SMALL, "--concurrency", "2")
    assert code == 2
    assert "No request was answered: 6 http-500 (out of memory)." in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nonsense",), "is no address of a server"),
        (("http://127.0.0.1:1",), "nothing answers there"),
        (("URL", "--concurrency", "0"), "--concurrency: '0' is out of range"),
        (("URL", "--concurrency", "1,1"), "name each point once"),
        (("URL", "--concurrency", "1,x"), "'x' is not possible"),
        (("URL", "--served-model", "refrence"), "serves reference"),
        (("URL", "--gpu", "h200"), "--gpus is missing"),
        (("URL", "--gpus", "1"), "--gpu is missing"),
        (("URL", "--gpu", "h2000", "--gpus", "1"), "unknown gpu"),
        (("URL", "--api-key-env", "NO_SUCH"), "no such variable"),
        (("URL", "--rate", "4"), "not both"),
        (("URL", "--trace", "no.csv"), "leave out --isl"),
        (("URL", "--temperature", "9"), "--temperature"),
        (("URL", "--timeout", "10"), "--timeout"),
        ((), "URL is missing"),
        (("--resume", "none.jsonl"), "the load of a run that is resumed is in its file"),
    ],
)
def test_bad_input_is_one_line(capsys, quick, words, said):
    load = [] if "--concurrency" in words else ["--concurrency", "1"]
    code, out, err = measured(capsys, *(quick if word == "URL" else word for word in words), *SMALL, *load)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_request_longer_than_the_server_takes_is_refused(capsys):
    with serving(answering(GOOD)) as server:
        code, _, err = measured(capsys, server.url, "--isl", "4000", "--osl", "97", "--concurrency", "1")
    assert code == 2
    assert "longer than the 4,096 that tiny is served with" in err


def test_a_file_that_is_there_is_not_written_over(capsys, tmp_path, quick):
    file = tmp_path / "run.jsonl"
    file.write_text("mine")
    code, _, err = measured(capsys, quick, *SMALL, "--concurrency", "1", "--save", str(file))
    assert code == 2
    assert "is there already" in err
    assert file.read_text() == "mine"
    code, _, err = measured(capsys, "--resume", str(file))
    assert code == 2


def started(url, file, *words):
    program = "from planner.cli import main; main(prog_name='planner')"
    command = [sys.executable, "-c", program, "measure", "endpoint", url, *words, "--save", str(file)]
    # A shell that runs the tests in the background has Ctrl-C ignored, and children inherit that.
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def until(condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen in 20 s")


def lines(file):
    return file.read_text().splitlines() if file.exists() else []


LONG = ("--isl", "16", "--osl", "4", "--requests", "30", "--warmup", "0", "--concurrency", "10,1")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_keeps_what_it_has_and_goes_on(capsys, tmp_path, how):
    file = tmp_path / "run.jsonl"
    with reference("--ttft-ms", "60", "--itl-ms", "2") as url:
        process = started(url, file, *LONG, "--json")
        # The first point has ended, and the second has begun.
        until(lambda: sum('"kind":"request"' in line for line in lines(file)) >= 33)
        os.kill(process.pid, how)
        out, err = process.communicate(timeout=20)
        kept = read_journal(file)
        assert kept.ended == {0}
        assert len(kept.points[0]) == 30
        assert 3 <= len(kept.points[1]) < 30
        if how is signal.SIGINT:
            answer = json.loads(out)
            assert (process.returncode, answer["interrupted"], err) == (130, True, "")
            assert [point["ended"] for point in answer["points"]] == [True, False]
            assert answer["points"][1]["requests"] >= 3
        first = lines(file)[: 2 + 30]
        with file.open("a") as torn:
            torn.write('{"kind":"requ')
        code, out, _ = measured(capsys, "--resume", str(file), "--json")
    answer = json.loads(out)
    assert (code, answer["interrupted"]) == (0, False)
    assert [(point["requests"], point["ended"]) for point in answer["points"]] == [(30, True), (30, True)]
    assert lines(file)[: 2 + 30] == first
    assert read_journal(file).ended == {0, 1}


@pytest.mark.parametrize(
    "text", ["", "{}\n", "[]\n", "nonsense\n", '{"schema":"planner.endpoint-run/1"}\n', "\x00\n"]
)
def test_what_is_no_file_of_a_run_is_refused(tmp_path, text):
    file = tmp_path / "run.jsonl"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=r"run\.jsonl:1: "):
        read_journal(file)


@pytest.mark.parametrize(
    "change",
    [
        lambda line: {**line, "request": {}},
        lambda line: {**line, "point": 7},
        lambda line: {**line, "kind": "other"},
        lambda line: {"kind": "end", "point": 3},
        lambda line: {**line, "request": {**line["request"], "ttft_s": "soon"}},
        lambda line: {**line, "request": {**line["request"], "gaps_s": [None]}},
        lambda line: {**line, "request": {**line["request"], "sent_s": float("nan")}},
        lambda line: {**line, "request": {**line["request"], "colour": "red"}},
    ],
    ids=range(8),
)
def test_a_broken_line_is_named(tmp_path, quick, change):
    file = tmp_path / "run.jsonl"
    load = EndpointLoad(concurrency=(1,), isl=8, osl=2, requests=2, warmup=0)
    measure_endpoint(Endpoint(url=quick), load, save=file)
    whole = file.read_text().splitlines()
    broken = json.dumps(change(json.loads(whole[3])))
    Path(file).write_text("\n".join([*whole[:3], broken, ""]))
    with pytest.raises(InvalidInput, match=r"run\.jsonl:4: is no line of a run"):
        read_journal(file)


def test_a_disk_that_is_full_ends_the_run_in_one_line(capsys, quick, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("planner.measurement.endpoint.journal.os.fsync", full)
    code, out, err = measured(capsys, quick, *SMALL, "--concurrency", "1")
    assert (code, out) == (2, "")
    assert "cannot be written: No space left on device" in err
