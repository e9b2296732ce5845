"""Draw the terminal picture of the README: docs/fit.svg.

python docs/make_pictures.py
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

import planner
from planner.cli.draw_fit import draw_fit

PICTURE = Path(__file__).with_name("fit.svg")
COLUMNS = 92
WEB_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
"""The picture is drawn in whatever monospaced font the reader has; nothing is fetched for it."""
COMMAND = (
    "planner fit --model kimi-k3 --gpu mi355x,b200,b300 \\\n"
    "              --price mi355x=2.50,b200=4.25,b300=6.00"
)


def picture() -> str:
    """Return the answer to `COMMAND` as SVG."""
    report = planner.fit(
        model="kimi-k3", gpu="mi355x,b200,b300", price={"mi355x": 2.50, "b200": 4.25, "b300": 6.00}
    )
    console = Console(
        record=True,
        width=COLUMNS,
        file=io.StringIO(),
        highlight=False,
        force_terminal=True,
        color_system="truecolor",
    )
    console.print(Text(f"$ {COMMAND}", style="bold"))
    console.print()
    draw_fit(console, report)
    drawn = console.export_svg(title="planner fit", theme=MONOKAI, unique_id="planner-fit")
    return WEB_FONT.sub("", drawn)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
