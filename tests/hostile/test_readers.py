"""What is no regular file of bounded size is refused in one line by every reader, and never waited for."""

from __future__ import annotations

import os
import threading

import pytest

from planner.catalogue import load_catalogue
from planner.catalogue.documents import MAX_FILE_BYTES
from planner.catalogue.imported import MAX_CONFIG_BYTES, model_from_config
from planner.catalogue.textfiles import read_bytes
from planner.cli import sweep
from planner.errors import InvalidInput, PlannerError
from planner.measurement import csvtable
from planner.measurement.csvtable import read_csv
from planner.measurement.engine import plan
from planner.measurement.engine.plan import read_plan
from planner.measurement.importers.sources import open_source
from planner.measurement.traces import read_trace
from planner.planning import fleet_asked
from planner.planning.fleet_asked import read_fleet
from planner.report import reading
from planner.report.reading import read_report

READERS = {
    "catalogue": (lambda path: load_catalogue(extra=path), MAX_FILE_BYTES),
    "config": (model_from_config, MAX_CONFIG_BYTES),
    "table": (read_csv, csvtable.MAX_FILE_BYTES),
    "trace": (read_trace, csvtable.MAX_FILE_BYTES),
    "result": (open_source, csvtable.MAX_FILE_BYTES),
    "fleet": (lambda path: read_fleet(str(path)), fleet_asked.MOST_FILE_BYTES),
    "sweep": (lambda path: sweep._read(str(path)), sweep.MOST_FILE_BYTES),
    "plan": (lambda path: read_plan(str(path)), plan.MOST_FILE_BYTES),
    "answer": (read_report, reading.MOST_BYTES),
}


def refusal(read, path) -> str:
    """Return the one line with which a reader refuses, within seconds."""
    said: list[BaseException | None] = []

    def ask() -> None:
        try:
            read(path)
            said.append(None)
        except BaseException as error:
            said.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(20)
    assert said, f"{path} was waited for"
    assert isinstance(said[0], PlannerError), said[0]
    line = str(said[0])
    assert "\n" not in line
    assert str(path) in line
    return line


@pytest.fixture(params=READERS)
def reader(request):
    """Each reader in turn."""
    return READERS[request.param]


def test_a_pipe_without_a_writer_is_refused(tmp_path, reader):
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    assert "no regular file" in refusal(reader[0], pipe)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
def test_a_device_without_an_end_is_refused(tmp_path, reader):
    link = tmp_path / "zero.json"
    link.symlink_to("/dev/zero")
    assert "no regular file" in refusal(reader[0], link)


def test_a_file_over_the_limit_is_not_read(tmp_path, reader):
    read, most = reader
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.write(b"{")
        file.truncate(most + 1)
    assert "larger than" in refusal(read, huge)


def test_a_link_to_itself_is_refused(tmp_path, reader):
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    assert "cannot be read" in refusal(reader[0], loop)


def test_a_name_that_no_file_has_is_refused():
    for name in ("a\0b", "\ud800"):
        with pytest.raises(InvalidInput) as refused:
            read_bytes(name, most_bytes=1, otherwise="")
        assert "\n" not in str(refused.value)
        str(refused.value).encode()


def test_a_file_that_grows_while_it_is_read_is_bounded(tmp_path):
    # Files of /proc say that they are empty.
    if not os.path.exists("/proc/self/maps"):
        pytest.skip("only Linux has such a file")
    with pytest.raises(InvalidInput, match="larger than 16 bytes"):
        read_bytes("/proc/self/maps", most_bytes=16, otherwise="no")
