"""Which repository or file an engine loads, and whether it loads such weights at all."""

from __future__ import annotations

from planner.architecture import Architecture
from planner.architecture.quantisation import WeightScheme
from planner.catalogue import Model
from planner.catalogue.stacks import Stack
from planner.errors import InvalidInput, Unsupported
from planner.scenario.gguf import GGUF_BITS
from planner.scenario.schemes import CASTS, find_variant, native_formats, weight_scheme
from planner.serving.book import EngineBook
from planner.serving.words import checked

GGUF = "gguf"
TORCH_NAMES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}


def checkpoint_of(
    model: Model, architecture: Architecture, weight_dtype: str | None, given: str | None, stack: Stack
) -> tuple[str, str | None]:
    """Return what an engine loads for a model in a format, and the dtype that it is cast to.

    Parameters
    ----------
    model : Model
        The model.
    architecture : Architecture
        Its blocks.
    weight_dtype : str or None
        Format of the weights, as a Deployment has it.
    given : str or None
        The user's own repository, folder or file.
    stack : Stack
        The engine.

    Returns
    -------
    tuple of str and str or None

    Raises
    ------
    InvalidInput
        Where no checkpoint in this format is known, naming those that are.
    """
    wanted = (weight_dtype or "").lower()
    native = native_formats(model, architecture)
    cast = TORCH_NAMES.get(CASTS.get(wanted, "")) if wanted else None
    if given is not None:
        return checked("checkpoint", given), None
    variant = find_variant(model, wanted) if wanted else None
    if stack.id == "llama.cpp":
        known = variant[1].checkpoints if variant and GGUF in variant[0] else ()
    elif variant is not None:
        known = variant[1].checkpoints
    elif not wanted or wanted == "native" or (cast and not native) or _is_native(wanted, native.values()):
        known = (model.hf_repo,) if model.hf_repo else ()
    else:
        known = ()
    if known:
        return checked("checkpoint", known[0]), cast
    what = "GGUF file" if stack.id == "llama.cpp" else f"checkpoint in {weight_dtype or 'its own format'}"
    others = [
        f"{name} ({one.checkpoints[0]})" for name, one in model.quantisations.items() if one.checkpoints
    ]
    there = f"; there is --weight-dtype {', '.join(others[:3])}" if others and stack.id != "llama.cpp" else ""
    raise InvalidInput(
        f"no {what} of {model.id} is known: name one with --checkpoint (a repository, folder or file){there}"
    )


def _is_native(wanted: str, formats: object) -> bool:
    return any(str(fmt).startswith(wanted) for fmt in formats)  # type: ignore[attr-defined]


def check_loads(
    model: Model, architecture: Architecture, weight_dtype: str | None, stack: Stack, book: EngineBook
) -> None:
    """Refuse weights in a format that the engine does not load.

    Parameters
    ----------
    model, architecture, weight_dtype, stack
        As for `checkpoint_of`.
    book : EngineBook
        What is known of the engine.

    Raises
    ------
    Unsupported
        Naming what it loads.
    """
    scheme = weight_scheme(model, architecture, weight_dtype)
    lacking = [fmt for fmt in _formats(scheme) if not fmt.startswith(tuple(book.loads))]
    if lacking:
        raise Unsupported(
            f"{stack.name} does not load {lacking[0]} weights ({scheme.name}); it loads "
            f"{', '.join(book.loads)}"
        )


def _formats(scheme: WeightScheme) -> list[str]:
    """Return the formats of a scheme by the names that `loads` has; files of llama.cpp are of one kind."""
    if scheme.name in GGUF_BITS or scheme.name.startswith(GGUF):
        return [GGUF]
    return list(dict.fromkeys([scheme.default, *scheme.by_group.values()]))
