"""The front door for media models: the same functions answer for what makes pictures, videos and meshes.

What answers is imported late, so that a question on a language model pays for none of it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from planner.api.arguments import open_catalogue
from planner.catalogue import Catalogue
from planner.errors import InvalidInput, UnknownName, nearest_names, shorten
from planner.report.base import Report
from planner.scenario.media_options import MEDIA_OPTIONS

ROOT = "media_models"
P = ParamSpec("P")
R = TypeVar("R", bound=Report)


def answers_media(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function of the front door answer for media models too.

    Parameters
    ----------
    function : callable
        It takes `model` and `catalogue`, and further arguments by name.

    Returns
    -------
    callable
        With the same signature. A question on a media model has a report of its own kind, which the annotated
        type of the answer does not name.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        book = open_catalogue(cast(Any, kwargs.get("catalogue")))
        if not is_media(book, kwargs.get("model")):
            _refuse_sizes(book, kwargs)
            _name_nearest(book, kwargs.get("model"))
            plain = {name: value for name, value in kwargs.items() if name not in MEDIA_OPTIONS}
            plain["catalogue"] = book
            return function(*args, **cast(Any, plain))
        from planner.api.media import answer_media

        return cast(R, answer_media(function.__name__, dict(kwargs), signature, book))

    return asked


def is_media(catalogue: Catalogue, model: object) -> bool:
    """Return whether a name, or a record, is that of a media model."""
    if not isinstance(model, str):
        return model is not None and hasattr(model, "makes")
    if model in catalogue.ids("models") or not model.strip() or not catalogue.ids(ROOT):
        return False  # the id of a language model is looked up in no further file
    try:
        catalogue.resolve(ROOT, model)
    except UnknownName:
        return False
    return True


def _refuse_sizes(catalogue: Catalogue, given: dict[str, Any]) -> None:
    """Refuse what only media models take."""
    asked = (name for name in MEDIA_OPTIONS if not (given.get(name) is None or given[name] is False))
    name = next(asked, None)
    if name is None:
        return
    model = given.get("model")
    try:
        catalogue.resolve("models", cast(str, model))
    except UnknownName:
        near = _nearest(catalogue, str(model)) or catalogue.ids(ROOT)
        raise InvalidInput(
            f"{name}: asked of media models, and {shorten(model)} is none; nearest: {', '.join(near)}"
        ) from None
    raise InvalidInput(
        f"{name}: {model} is a language model, whose load is isl, osl and concurrency; sizes and steps are "
        f"asked of media models, such as {', '.join(catalogue.ids(ROOT))}"
    )


def _nearest(catalogue: Catalogue, name: str) -> list[str]:
    names = [one for key in catalogue.ids(ROOT) for one in (key, *catalogue.aliases(ROOT, key))]
    return nearest_names(name, names)


def _name_nearest(catalogue: Catalogue, model: object) -> None:
    """Name media models too where a name is that of no model, and of no file or repository."""
    if not isinstance(model, str) or "/" in model or model.endswith(".json"):
        return
    try:
        catalogue.resolve("models", model)
    except UnknownName as error:
        near = _nearest(catalogue, model)
        if near and "unknown model" in str(error):
            raise UnknownName(f"{error}; media models: {', '.join(near)}") from None
