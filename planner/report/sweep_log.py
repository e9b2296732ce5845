"""The parts of a sweep in one file that grows: what was written before an interruption is found again.

A header names the sweep. Each part is a frame with its place, its lengths and a checksum; a frame that was
cut off or damaged ends the file. A whole file is made of the parts in order, written beside and renamed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from planner.errors import InvalidInput
from planner.report.sweep_parts import CSV, Part, Summary, arrow_schema
from planner.report.sweep_text import csv_header

MAGIC = b"planner sweep 2\n"
FRAME, SUM = struct.Struct("<4sQQQ"), struct.Struct("<I")
"""Mark, place of the part, bytes of its summary and of its rows; the checksum of these and of both."""
MARK = b"PART"

SYNC_BYTES = 64 * 2**20
"""So much is on the disk at the latest before more is written."""
GROUP_ROWS = 1 << 17
"""Rows of a row group of Parquet, about."""


class SweepLog:
    """The growing file of a sweep.

    Parameters
    ----------
    out : Path
        The file that the sweep is to become; the log stands beside it with ``.part`` at the end.
    key : str
        Of the sweep.
    form : str
        ``csv`` or ``parquet``.
    restart : bool
        Whether what was done before is thrown away.

    Raises
    ------
    InvalidInput
        When it cannot be written, is of another sweep, or is being written by another process.
    """

    def __init__(self, out: Path, key: str, form: str, restart: bool = False) -> None:
        self.out, self.form = out, form
        self.path = out.with_name(out.name + ".part")
        self._places: dict[int, tuple[int, int, int]] = {}
        self._unsynced = 0
        try:
            if out.is_dir():
                raise IsADirectoryError(None, "Is a directory")
            if (
                self.path.is_symlink()
            ):  # its name can be foreseen, so that somebody else may have put it there
                raise OSError(None, f"{self.path} is a link, and what it leads to is not written over")
            self._file: IO[bytes] = open(self.path, "r+b" if self.path.exists() else "x+b")  # noqa: SIM115
        except OSError as error:
            raise InvalidInput(f"--out {out}: cannot be written: {error.strerror or error}") from None
        try:
            _lock(self._file, self.path)
            self._begin(f"{form} {key}\n".encode(), restart)
        except OSError as error:
            self.close()
            raise InvalidInput(f"--out {out}: cannot be written: {error.strerror or error}") from None
        except BaseException:
            self.close()
            raise

    def _begin(self, named: bytes, restart: bool) -> None:
        header = MAGIC + named
        held = self._file.read(len(header))
        whole = len(held) == len(header)
        if restart or (not whole and header.startswith(held)):
            self._file.seek(0)
            self._file.truncate()
            self._file.write(header)
            self._file.flush()
            return
        if held != header:
            raise InvalidInput(
                f"{self.path}: holds another sweep (other question, catalogue or version), or is no sweep; "
                "--restart throws it away, or name another --out"
            )
        self._find_parts()

    def _find_parts(self) -> None:
        """Find the parts that are whole, and cut off what comes after them."""
        good = self._file.tell()
        size = os.fstat(self._file.fileno()).st_size
        while len(head := self._file.read(FRAME.size + SUM.size)) == FRAME.size + SUM.size:
            named, (checksum,) = head[: FRAME.size], SUM.unpack(head[FRAME.size :])
            mark, task, said, rows = FRAME.unpack(named)
            begin = self._file.tell()
            if mark != MARK or said + rows > size - begin:
                break
            if zlib.crc32(self._file.read(said + rows), zlib.crc32(named)) != checksum:
                break
            self._places[task] = (begin, said, rows)
            good = self._file.tell()
        self._file.seek(good)
        self._file.truncate()

    @property
    def done(self) -> frozenset[int]:
        """Return the places of the parts that are there."""
        return frozenset(self._places)

    def append(self, part: Part) -> None:
        """Write a part; it counts once all of it is there."""
        said = json.dumps(part.summary.to_dict(), allow_nan=False).encode()
        body = said + part.payload
        named = FRAME.pack(MARK, part.task, len(said), len(part.payload))
        try:
            self._file.write(named + SUM.pack(zlib.crc32(body, zlib.crc32(named))) + body)
            self._file.flush()
            self._unsynced += len(body)
            if self._unsynced >= SYNC_BYTES:
                os.fsync(self._file.fileno())
                self._unsynced = 0
        except OSError as error:
            raise InvalidInput(f"{self.path}: cannot be written: {error.strerror or error}") from None
        end = self._file.tell()
        self._places[part.task] = (end - len(body), len(said), len(part.payload))

    def close(self) -> None:
        """Leave the parts for the next time; what was not written yet is done again."""
        with contextlib.suppress(OSError):
            self._file.close()

    def summary(self) -> Summary:
        """Return what is said of all rows, in the order of the sweep."""
        together = Summary()
        for task in sorted(self._places):
            begin, said, _ = self._places[task]
            self._file.seek(begin)
            together.add(Summary(**json.loads(self._file.read(said))))
        return together

    def finish(self, about: dict[str, Any]) -> None:
        """Write all parts in order into the file they are meant for, whole or not at all.

        Parameters
        ----------
        about : dict
            What Parquet keeps beside the rows: how to make them again.
        """
        temporary: str | None = None
        try:
            target = self.out.resolve()
            handle, temporary = tempfile.mkstemp(
                prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent
            )
            with os.fdopen(handle, "wb") as file:
                if self.form == CSV:
                    file.write(csv_header().encode())
                    for payload in self._payloads():
                        file.write(payload)
                else:
                    self._write_parquet(file, about)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, os.fstat(self._file.fileno()).st_mode & 0o777)
            os.replace(temporary, target)
            temporary = None
        except OSError as error:
            raise InvalidInput(f"--out {self.out}: cannot be written: {error.strerror or error}") from None
        finally:
            if temporary is not None:
                os.unlink(temporary)
        # As long as it is locked nobody else goes on with it, or begins anew.
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()
        self._file.close()

    def _payloads(self) -> Iterator[bytes]:
        for task in sorted(self._places):
            begin, said, rows = self._places[task]
            self._file.seek(begin + said)
            yield self._file.read(rows)

    def _write_parquet(self, file: IO[bytes], about: dict[str, Any]) -> None:
        import pyarrow
        import pyarrow.parquet

        schema = arrow_schema().with_metadata({"planner": json.dumps(about)})
        words = [one.name for one in schema if one.type == pyarrow.string()]
        with pyarrow.parquet.ParquetWriter(
            file, schema, compression="zstd", compression_level=1, use_dictionary=words
        ) as writer:
            held: list[Any] = []
            for payload in self._payloads():
                held.append(pyarrow.ipc.open_stream(io.BytesIO(payload)).read_all())
                if sum(table.num_rows for table in held) >= GROUP_ROWS:
                    writer.write_table(pyarrow.concat_tables(held).cast(schema))
                    held = []
            if held:
                writer.write_table(pyarrow.concat_tables(held).cast(schema))


def _lock(file: IO[bytes], path: Path) -> None:
    """Refuse to write what another process writes; the lock ends with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # not a Unix system: there the file itself is not shared
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InvalidInput(f"{path}: another process writes this sweep") from None
    if not (path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())):
        raise InvalidInput(f"{path}: another process has just ended this sweep; ask again")
