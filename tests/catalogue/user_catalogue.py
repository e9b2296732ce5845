"""Catalogue files as a user would write them, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

GPU = """\
sources:
  my-datasheet: {title: 'Datasheet of the X1', date: 2026-05}

gpus:
  x1:
    name: X1
    vendor: Nobody
    architecture: Test
    isa: sm_90
    status: available
    aliases:
      My X1: in the lab
      'X-1: the "first"':
    memory:
      type: HBM3
      marketed: {value: 80 GB, source: my-datasheet}
      driver: {value: 79.6 GiB, source: my-datasheet}
      bandwidth: {value: 3.35 TB/s, source: my-datasheet}
    peaks:
      bf16: {value: 989 TFLOPS, source: my-datasheet}
      fp8: {value: 1979 TFLOPS, source: my-datasheet}
    scale_up:
      link: NVLink4
      topology: switch
      per_gpu: {value: 450 GB/s, source: my-datasheet}
      domain_gpus: {value: 8, source: my-datasheet}
    node:
      gpus: {value: 8, source: my-datasheet}
"""

PRICES = """\
prices:
  b200:
    - provider: My cloud
      usd_per_gpu_hour: 3.10 USD/h
      kind: on-demand
      source: our contract
      date: 2026-11
"""


def write(folder: Path, text: str | bytes, name: str = "mine.yaml") -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def line_with(text: str, part: str) -> int:
    """Return the first line, from 1, that holds a text."""
    return next(number for number, line in enumerate(text.split("\n"), 1) if part in line)
