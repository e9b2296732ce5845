"""Options of a unit of media: size, frames, steps, guidance, for the commands that answer for such models."""

from __future__ import annotations

from typing import Any

import click

from planner.cli.load_options import Number
from planner.cli.options import Count, stacked
from planner.errors import InvalidInput

MOST_SIDE, MOST_FRAMES, MOST_STEPS, MOST_LATENTS, MOST_OCTREE = 16_384, 10_000, 1_000, 131_072, 2_048


class Pixels(click.ParamType[str]):
    """Width and height of a picture or video: ``1280x720``."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read both sides, or say how they are written."""
        from planner.scenario.media import read_size

        try:
            width, height = read_size(value)
        except InvalidInput as error:
            self.fail(str(error).removeprefix("size: "), param, ctx)
        return f"{width}x{height}"


media_options = stacked(
    click.option(
        "--size",
        type=Pixels(),
        metavar="WxH",
        help="Media models: size of the picture or video in pixels, such as 1280x720.  [default: as the "
        "usual workflow]",
    ),
    click.option(
        "--frames",
        type=Count(1, MOST_FRAMES, "frames"),
        metavar="N",
        help="Media models: frames of the video.  [default: as the usual workflow]",
    ),
    click.option(
        "--steps",
        type=Count(1, MOST_STEPS, "steps"),
        metavar="N",
        help="Media models: steps of denoising.  [default: as the usual workflow]",
    ),
    click.option(
        "--guidance",
        type=Number(0, 100, "guidance", zero=True),
        metavar="N",
        help="Media models: strength of guidance (CFG); above 1 it takes a second pass, unless it is an "
        "input of the model.  [default: as the usual workflow]",
    ),
    click.option(
        "--latents",
        type=Count(1, MOST_LATENTS, "latents"),
        metavar="N",
        help="Media models: latents of a mesh.  [default: 4,096]",
    ),
    click.option(
        "--octree",
        type=Count(8, MOST_OCTREE, "cells"),
        metavar="N",
        help="Media models: resolution at which the surface of a mesh is looked for.  [default: 256]",
    ),
    click.option(
        "--offload",
        is_flag=True,
        default=None,
        help="Media models: let weights that do not fit stay with the host.",
    ),
)
