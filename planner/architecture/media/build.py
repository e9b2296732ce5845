"""Components by the kind that a catalogue names them with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, cast

from planner.architecture.media.autoencoders import PictureAutoencoder, VideoAutoencoder
from planner.architecture.media.encoders import ClipText, DinoV2, T5Encoder
from planner.architecture.media.flux import FluxTransformer
from planner.architecture.media.hunyuan3d import HunyuanShapeTransformer
from planner.architecture.media.shape_vae import ShapeAutoencoder
from planner.architecture.media.wan import WanTransformer
from planner.architecture.media.work import Component
from planner.errors import UnsupportedArchitecture, nearest_names

KINDS: dict[str, type[Any]] = {
    "flux": FluxTransformer,
    "wan": WanTransformer,
    "hunyuan3d": HunyuanShapeTransformer,
    "t5": T5Encoder,
    "clip-text": ClipText,
    "dinov2": DinoV2,
    "picture-vae": PictureAutoencoder,
    "video-vae": VideoAutoencoder,
    "shape-vae": ShapeAutoencoder,
}
"""Each kind of block of `data/media.yaml` and what counts it."""


def build_component(kind: str, sizes: Mapping[str, int]) -> Component:
    """Return a component of known kind with its sizes.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    sizes : mapping of str to int
        Its fields.

    Returns
    -------
    Component

    Raises
    ------
    UnsupportedArchitecture
        For another kind, and for sizes that are missing or too many.
    """
    made = KINDS.get(kind)
    if made is None:
        near = nearest_names(kind, KINDS) or list(KINDS)
        raise UnsupportedArchitecture(f"kind {kind!r} has no block; there is {', '.join(near)}")
    known = {field.name: field.default is MISSING for field in fields(made)}
    missing = [name for name, needed in known.items() if needed and name not in sizes]
    odd = [name for name in sizes if name not in known]
    if missing or odd:
        what = f"{missing[0]} is missing" if missing else f"{odd[0]} is no size"
        raise UnsupportedArchitecture(f"{kind}: {what}; its sizes are {', '.join(known)}")
    return cast(Component, made(**sizes))
