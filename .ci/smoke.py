"""Does an installed planner work away from its checkout: run it with the interpreter it is installed in."""

import subprocess
import sys
from pathlib import Path

import planner

SCRIPTS = Path(sys.executable).parent
assert Path(planner.__file__).is_relative_to(sys.prefix), planner.__file__


def said(*words: object) -> str:
    """Return what a command prints; any exit code but 0 is an error."""
    return subprocess.run([*map(str, words)], check=True, capture_output=True, text=True).stdout


for program in ([SCRIPTS / "planner"], [SCRIPTS / "accelerator-planner"], [sys.executable, "-m", "planner"]):
    assert planner.__version__ in said(*program, "--version")
    assert "fits" in said(*program, "fit", "--model", "kimi-k3", "--gpu", "b300")

command = SCRIPTS / "planner"
assert "mi355x" in said(command, "gpus")
compared = said(command, "compare", "--model", "kimi-k3", "--isl", 1024, "--osl", 400, "--json")
assert '"planner.compare/1"' in compared
assert '"measured"' in compared
assert "--port" in said(command, "ui", "--help")
for extra in ("ui", "mcp"):
    refused = subprocess.run([command, extra], capture_output=True, text=True)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
    assert "accelerator-planner[" in refused.stderr

report = planner.fit(model="deepseek-r1", gpu="b200", tp=8, context=131072, kv_dtype="bf16")
assert report.fits
assert report.answer.memory.kv_bytes_per_token_per_rank == 70_272
catalogue = planner.load_catalogue()
assert len(catalogue.models()) > 100
assert len(catalogue.gpus()) > 50
print(f"planner {planner.__version__} on Python {sys.version.split()[0]} works away from its checkout")
