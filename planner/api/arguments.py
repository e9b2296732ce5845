"""What the functions of the front door share: the catalogue and paths as a user may give them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TypeVar

from planner.catalogue import Catalogue, Gpu, load_catalogue
from planner.errors import IllegalDeployment, InvalidInput, PlannerError, Unsupported, shorten, unknown_name
from planner.measurement.own_file import own_catalogue
from planner.scenario.records import LARGEST_SIZE

A = TypeVar("A")


def open_catalogue(given: Catalogue | str | os.PathLike[str] | None) -> Catalogue:
    """Return an open catalogue, or the shipped one with the user's own calibration and file over it."""
    if isinstance(given, Catalogue):
        return given
    if given is None:
        return own_catalogue()
    return load_catalogue(path_text("catalogue", given))


def path_text(name: str, given: object) -> str:
    """Return a path as text, or refuse what is none."""
    path = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(path, str) or not path:
        raise InvalidInput(f"{name}: {shorten(given)} is no path of a file")
    return path


def one_of(name: str, given: object, choices: Iterable[str]) -> str:
    """Return a word that is among some, or refuse it and name the nearest."""
    known = tuple(choices)
    if not isinstance(given, str) or given not in known:
        raise unknown_name(name, given if isinstance(given, str) else shorten(given), known)
    return given


def whole(name: str, given: object, most: int) -> int | None:
    """Return a whole number from 1 on, or None where none was given."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most:
        raise InvalidInput(
            f"{name}: {shorten(given)} is not possible; a whole number from 1 to {most:,} is needed"
        )
    return given


def pair_of_gpus(name: str, given: object) -> tuple[int, int] | None:
    """Return GPUs that only prefill and GPUs that decode, or None where none were given."""
    if given is None:
        return None
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise InvalidInput(f"{name}: {shorten(given)} is no pair of GPU counts, such as (8, 16)")
    prefill, decode = (whole(name, one, LARGEST_SIZE) or 1 for one in given)
    return prefill, decode


def answered(gpus: Iterable[Gpu], answer: Callable[[Gpu], A]) -> tuple[dict[str, A], dict[str, str]]:
    """Return what each accelerator answers, and why those that cannot run what was asked have no answer.

    Parameters
    ----------
    gpus : iterable of Gpu
        The accelerators.
    answer : callable
        From one of them to its answer.

    Returns
    -------
    tuple of dict
        Answers and reasons by id.

    Raises
    ------
    PlannerError
        The first reason, where none of them can run it.
    """
    answers: dict[str, A] = {}
    refused: dict[str, PlannerError] = {}
    for gpu in gpus:
        try:
            answers[gpu.id] = answer(gpu)
        except (Unsupported, IllegalDeployment) as error:
            refused[gpu.id] = error
    if not answers:
        raise next(iter(refused.values()))
    return answers, {gpu: str(error) for gpu, error in refused.items()}
