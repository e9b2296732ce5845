"""The look of every figure: colours that colour-blind readers tell apart, units on axes, light and dark.

The colours are those of Okabe and Ito, "Color universal design" (2008). A vendor keeps its colour in every
figure; accelerators of one vendor differ by shade, dash and sign as well, so that print in grey can be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

INK = "#6e7781"
"""Of texts and axes: readable on white and on near-black alike."""
GRID = "rgba(128,128,128,0.25)"

AMD = ("#d55e00", "#e69f00", "#a33b00", "#f0b67f")
NVIDIA = ("#009e73", "#0072b2", "#56b4e9", "#005a41")
OTHERS = ("#cc79a7", "#8c6bb1", "#999999", "#b8860b")
VENDOR_COLOURS: Mapping[str, tuple[str, ...]] = {"AMD": AMD, "NVIDIA": NVIDIA}
SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#999999")
"""Of parts and series that no vendor owns."""
HOSTED = "#f0e442"
"""Of hosted APIs, which run on nobody knows what."""

SIGNS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
HEIGHT = 420
FONT_SIZE = 13
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def gpu_colours(vendors: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return a colour for each accelerator, in the shades of its vendor.

    Parameters
    ----------
    vendors : sequence of (str, str)
        Id and vendor of each accelerator, in any order: reports on the same ones have the same colours.

    Returns
    -------
    dict
        By id; the first of a vendor by name has the vendor's own colour.
    """
    seen: dict[str, int] = {}
    colours: dict[str, str] = {}
    for gpu, vendor in sorted(set(vendors)):
        shades = VENDOR_COLOURS.get(vendor, OTHERS)
        number = seen.get(vendor, 0)
        seen[vendor] = number + 1
        colours[gpu] = shades[number % len(shades)]
    return colours


def styled(figure: Figure, *, x: str, y: str, **layout: Any) -> Figure:
    """Give a figure the common look.

    Parameters
    ----------
    figure : Figure
        It is changed and returned.
    x, y : str
        Titles of the axes, with their units.
    **layout
        Further fields of the layout, such as ``barmode="stack"`` or ``xaxis_type="log"``.

    Returns
    -------
    Figure
    """
    axis = {
        "gridcolor": GRID,
        "zerolinecolor": GRID,
        "linecolor": INK,
        "ticks": "outside",
        "automargin": True,
    }
    figure.update_layout(
        template="none",
        height=HEIGHT,
        margin={"l": 60, "r": 20, "t": 20, "b": 50},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": FONT_SIZE, "color": INK},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0, "x": 0.0, "traceorder": "normal"},
        legend_font_size=FONT_SIZE - 2,
        hoverlabel={"align": "left"},
        xaxis={**axis, "title": {"text": x, "font": {"size": FONT_SIZE}}},
        yaxis={**axis, "title": {"text": y, "font": {"size": FONT_SIZE}}},
    )
    figure.update_layout(**layout)
    return figure


def error_bar(values: Sequence[float], lows: Sequence[float], highs: Sequence[float]) -> dict[str, Any]:
    """Return the error bar of 80 % intervals.

    Parameters
    ----------
    values, lows, highs : sequence of float
        What is expected, and both ends of its interval.

    Returns
    -------
    dict
        As plotly's `error_x` and `error_y` take it.
    """
    return {
        "type": "data",
        "symmetric": False,
        "array": [high - value for value, high in zip(values, highs, strict=True)],
        "arrayminus": [value - low for value, low in zip(values, lows, strict=True)],
        "thickness": 1.2,
        "color": INK,
    }


def plain(text: str) -> str:
    """Return a user's text as plotly shows it: its few tags stand as they were written."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
