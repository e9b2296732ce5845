"""Many processes add to one folder of measurements, and some are killed: no row is lost, doubled or half."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planner.errors import InvalidInput
from planner.measurement import user_folder
from planner.measurement.csvtable import read_csv
from planner.measurement.engine.plan import EngineRun
from planner.measurement.engine.running import run_plan
from planner.measurement.serving_points import UnreadablePoint, parse_points
from planner.measurement.user_folder import LOCK, append_rows, name_part

ROOT = Path(__file__).parents[2]

WRITER = """
import sys
from planner.measurement.user_folder import append_rows
folder, writer, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for row in range(rows):
    speed = 1000 + 100 * writer + row
    point = dict(source="test", model="qwen3-8b", gpu="h200", n_gpus=1, tp=1, isl=100, osl=10, engine="vllm",
                 concurrency=1 + row, output_tps_per_gpu=speed, tpot_ms_median=writer + row / 100 + 1,
                 ttft_ms_median=10 + writer, e2e_s_median=1 + writer + row / 10)
    append_rows("serving", [point], name="imported", folder=folder)
    print(speed, flush=True)
"""


def writer(folder: Path, number: int, rows: int) -> subprocess.Popen[str]:
    """Start a process that adds rows one after the other, and names each when it is there."""
    words = [sys.executable, "-c", WRITER, str(folder), str(number), str(rows)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def speeds(folder: Path) -> list[int]:
    """Return what stands in the folder, every row of which can be read."""
    table = read_csv(folder / "serving" / "imported.csv")
    assert not [point for point in parse_points(table, table.rows) if isinstance(point, UnreadablePoint)]
    return [int(float(row.cells["output_tps_per_gpu"])) for row in table.rows]


def test_writers_at_once_lose_nothing(tmp_path):
    running = [writer(tmp_path, number, 8) for number in range(6)]
    for one in running:
        one.communicate()
        assert one.returncode == 0
    assert sorted(speeds(tmp_path)) == sorted(1000 + 100 * who + row for who in range(6) for row in range(8))
    assert sorted(path.name for path in (tmp_path / "serving").iterdir()) == [LOCK, "imported.csv"]


def test_writers_that_are_killed_leave_what_they_said_was_there(tmp_path):
    rng = random.Random(1)
    said: set[int] = set()
    for turn in range(4):
        running = [writer(tmp_path, 3 * turn + number, 90) for number in range(3)]
        first = running[0].stdout.readline()
        time.sleep(rng.uniform(0.02, 0.2))
        for one in running:
            one.send_signal(signal.SIGKILL)
        said |= {int(line) for line in [first, *(line for one in running for line in one.stdout)]}
        for one in running:
            one.wait()
            one.stdout.close()
    found = speeds(tmp_path)
    assert len(found) == len(set(found))
    assert said <= set(found)
    # Who adds next is not kept waiting, and clears away what was half written.
    (tmp_path / "serving" / ".imported.csv.dead.part").write_text("half a row")
    last = writer(tmp_path, 50, 1)
    assert last.communicate(timeout=60)[0] == "6000\n"
    assert 6000 in speeds(tmp_path)
    assert sorted(path.name for path in (tmp_path / "serving").iterdir()) == [LOCK, "imported.csv"]


def test_a_lock_that_is_never_given_back_is_not_waited_for_without_end(tmp_path, monkeypatch):
    import fcntl

    monkeypatch.setattr(user_folder, "LOCK_S", 0.1)
    (tmp_path / "serving").mkdir()
    with (tmp_path / "serving" / LOCK).open("a+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InvalidInput, match="another process has held the lock"):
            append_rows("serving", [{"model": "a"}], name="imported", folder=tmp_path)
    append_rows("serving", [{"model": "a"}], name="imported", folder=tmp_path)


def test_a_stale_file_of_the_lock_is_no_lock(tmp_path):
    (tmp_path / "serving").mkdir()
    (tmp_path / "serving" / LOCK).write_bytes(b"left by a process that is gone")
    assert append_rows("serving", [{"model": "a"}], name="imported", folder=tmp_path).added == (0,)


@pytest.mark.parametrize("name", [LOCK, "imported.csv"])
def test_links_in_the_folder_lead_nowhere(tmp_path, name):
    outside = tmp_path / "outside.csv"
    outside.write_text("model\nmine\n")
    folder = tmp_path / "mine" / "serving"
    folder.mkdir(parents=True)
    (folder / name).symlink_to(outside)
    with pytest.raises(InvalidInput) as refused:
        append_rows("serving", [{"model": "a"}], name="imported", folder=tmp_path / "mine")
    assert str(folder) in str(refused.value)
    assert outside.read_text() == "model\nmine\n"
    assert (folder / name).is_symlink()


@pytest.mark.parametrize(
    "text",
    ["../../etc/cron.d/x", "/etc/passwd", "..", "", ".hidden", "a" * 5000, "a\0b", "a\nb", "CON:", "\ud800"],
)
def test_a_name_leads_to_no_other_folder(text):
    part = name_part(text)
    assert part
    assert Path(part).name == part
    assert not part.startswith(".")
    assert len(part) <= 100
    assert (Path("/folder") / part).parent == Path("/folder")


def test_the_names_of_a_plan_lead_to_no_other_folder(tmp_path, catalogue):
    run = EngineRun(model="llama-3.1-8b", weight_dtype="x/../../../outside")
    with contextlib.suppress(Exception):  # such a format is refused once its folder is there
        run_plan((run,), catalogue=catalogue, directory=tmp_path / "work" / "deep")
    assert os.listdir(tmp_path) == ["work"]
    assert os.listdir(tmp_path / "work") == ["deep"]
