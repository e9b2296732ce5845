"""Sweeps that are stopped, damaged or written where there is no room."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

import planner
from planner.api.sweep_running import spread
from planner.errors import InvalidInput
from planner.planning import sweeping
from planner.report import sweep_log
from planner.report.sweep_log import MARK, SweepLog

ASKED = {"model": "llama-3.1-8b", "gpu": "h100", "isl": "256..1k", "osl": "64..256", "concurrency": "1..32"}


@pytest.fixture
def small_tasks(monkeypatch):
    """Cut sweeps into many tasks."""
    monkeypatch.setattr(sweeping, "TASK_ROWS", 8)


def half_done(out, catalogue):
    """Leave a sweep after a few of its tasks; return the file of its parts."""

    def stop(done: int, _: int) -> None:
        if done >= 32:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        planner.sweep(**ASKED, out=out, progress=stop, catalogue=catalogue)
    return out.with_name(out.name + ".part")


def test_a_part_whose_place_was_damaged_is_done_again(tmp_path, catalogue, small_tasks):
    out = tmp_path / "rows.csv"
    part = half_done(out, catalogue)
    held = bytearray(part.read_bytes())
    second = held.index(MARK, held.index(MARK) + 1)
    held[second + len(MARK)] = 5  # it was the second of the parts
    part.write_bytes(held)
    planner.sweep(**ASKED, out=out, catalogue=catalogue)
    whole = planner.sweep(**ASKED, catalogue=catalogue)
    assert out.read_text(encoding="utf-8") == whole.to_csv()


FULL = """
import resource
import planner
resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
try:
    planner.sweep(**{asked!r}, out={out!r})
except planner.errors.InvalidInput as error:
    print(error)
"""


@pytest.mark.parametrize("room", [10, 3000])
def test_a_file_without_room_is_one_line_and_is_gone_on_with(tmp_path, catalogue, room):
    out = tmp_path / "rows.csv"
    script = FULL.format(room=room, asked=ASKED, out=str(out))
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "rows.csv" in said
    assert "cannot be written: File too large" in said
    planner.sweep(**ASKED, out=out, catalogue=catalogue)
    assert out.read_text(encoding="utf-8") == planner.sweep(**ASKED, catalogue=catalogue).to_csv()


def test_what_another_process_has_just_ended_is_not_gone_on_with(tmp_path, monkeypatch):
    out = tmp_path / "rows.csv"
    SweepLog(out, "key", "csv").close()

    def ended_meanwhile(path, mode):
        file = open(path, mode)  # noqa: SIM115
        os.unlink(path)
        return file

    monkeypatch.setattr(sweep_log, "open", ended_meanwhile, raising=False)
    with pytest.raises(InvalidInput, match="has just ended this sweep"):
        SweepLog(out, "key", "csv")


def test_worker_processes_leave_an_interrupt_to_the_one_that_waits_for_them():
    """A worker that ends while it holds the lock of a queue leaves the others waiting for ever."""
    with spread(None, 1) as pool:
        assert pool.submit(signal.getsignal, signal.SIGINT).result() == signal.SIG_IGN


STOPPED = """
import planner
if __name__ == "__main__":
    planner.sweep(**{asked!r}, out={out!r}, processes=2, progress=lambda *done: print(*done, flush=True))
"""


def test_an_interrupt_ends_the_processes_of_a_sweep(tmp_path):
    """Ctrl-C reaches every process of a terminal; none may be left waiting for another."""
    out = tmp_path / "rows.csv"
    asked = {**ASKED, "concurrency": list(range(1, 40_000))}
    script = tmp_path / "stopped.py"
    script.write_text(STOPPED.format(asked=asked, out=str(out)), encoding="utf-8")
    running = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert running.stdout is not None
    assert running.stdout.readline()
    os.killpg(running.pid, signal.SIGINT)
    try:
        assert running.wait(timeout=60) != 0
        assert not out.exists()
        for _ in range(100):
            if not alive(running.pid):
                return
            time.sleep(0.1)
        pytest.fail("a process of the sweep is left")
    finally:
        running.stdout.close()
        if alive(running.pid):
            os.killpg(running.pid, signal.SIGKILL)


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
