"""Models by name, or from a Hugging Face `config.json`: a file, a directory, a repository on the hub."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from planner.catalogue.models import Model
from planner.catalogue.textfiles import read_plain
from planner.distribution import installing
from planner.errors import InvalidInput, UnknownName, Unsupported, shorten

if TYPE_CHECKING:
    from planner.catalogue.loader import Catalogue

MAX_CONFIG_BYTES = 4 * 2**20
"""The longest published configuration is under 1 MiB."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model and the quantisation that its name implies.

    Parameters
    ----------
    model : Model
        The record.
    quantisation : str or None
        The variant that an alias such as ``nvidia/DeepSeek-R1-FP4`` stands for; None for the native one.
    """

    model: Model
    quantisation: str | None = None


def model_from(name: str, catalogue: Catalogue) -> ModelChoice:
    """Find a model by id, alias, path of a configuration, or repository on the hub, in this order.

    Parameters
    ----------
    name : str
        What the user gave.
    catalogue : Catalogue
        Where ids and aliases are looked up.

    Returns
    -------
    ModelChoice

    Raises
    ------
    UnknownName
        When it is none of these; the message names the nearest ids.
    InvalidInput
        When the configuration cannot be read.
    Unsupported
        When the hub would have to be asked and huggingface_hub is not installed.
    """
    path = Path(name).expanduser()
    if path.name.endswith(".json") or _is_directory(path):
        return ModelChoice(model_from_config(path))
    try:
        model = catalogue.model(name)
    except UnknownName as error:
        if name.count("/") == 1 and not name.startswith((".", "/", "~")):
            return ModelChoice(_model_from_hub(name, str(error)))
        raise
    implied = {alias.casefold(): variant for alias, variant in model.quantised_aliases.items()}
    return ModelChoice(model, implied.get(name.strip().casefold()))


def check_catalogued(name: str, catalogue: Catalogue) -> None:
    """Refuse a model that would be read from a file or asked of the hub, and not from the catalogue.

    Parameters
    ----------
    name : str
        What somebody calls the model whose word is not taken.
    catalogue : Catalogue
        Where it must stand.

    Raises
    ------
    PlannerError
        With the nearest names where it does not.
    """
    catalogue.resolve("models", name)
    if name.endswith(".json") or _is_directory(Path(name).expanduser()):
        raise InvalidInput(f"model {shorten(name)} is a file or folder here too, and is not opened")


def model_from_config(path: Path, name: str | None = None) -> Model:
    """Make a model of a `config.json`.

    Parameters
    ----------
    path : Path
        The file, or a directory that holds one.
    name : str, optional
        What to call the model; the directory's name by default.

    Returns
    -------
    Model
        With `config_status` "imported".

    Raises
    ------
    InvalidInput
        When the file is missing, too large, not JSON, or not a model's configuration.
    """
    file = path / "config.json" if _is_directory(path) else path
    config = _read_json(file)
    if not isinstance(config, dict):
        raise InvalidInput(f"{file}: holds a {type(config).__name__}; expected a JSON object")
    if "architectures" not in config:
        raise InvalidInput(f"{file}: architectures is missing, so this is not a model's config.json")
    called = name or (file.parent.resolve().name if file.name == "config.json" else file.stem)
    return Model(
        id=called, name=called, config_status="imported", config_note=f"read from {file}", config=config
    )


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name too long for the file system, for one
        return False


def _read_json(file: Path) -> Any:
    text = read_plain(file, most_bytes=MAX_CONFIG_BYTES, otherwise="not a model's config.json")
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{file}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise InvalidInput(f"{file}: nested too deeply for a model's config.json") from None
    except ValueError as error:  # duplicate keys, NaN, integers of thousands of digits
        raise InvalidInput(f"{file}: {str(error)[:120]}") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} stands there twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that a configuration may hold")


def _model_from_hub(repository: str, unknown: str) -> Model:
    """Fetch a configuration; the hub library itself honours HF_ENDPOINT (a mirror) and HF_HUB_OFFLINE."""
    import logging

    try:
        import huggingface_hub
    except ImportError:
        raise Unsupported(
            f"{unknown}; to ask the hub: {installing('hub')}; or give the path of a config.json"
        ) from None
    try:
        download = huggingface_hub.hf_hub_download
        # The library warns of every attempt, and has set up its logging by now: an error is one line.
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
        file = download(repository, "config.json")
    except Exception as error:  # the hub library raises errors of many libraries below it
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UnknownName(
            f"model {repository!r} is not in the catalogue, and not on the hub: {reason}"
        ) from None
    return model_from_config(Path(file), name=repository)
