"""What the published recipes of a model add to its launch: `data/launch_recipes.yaml`."""

from __future__ import annotations

from functools import cache

from pydantic import Field

from planner.catalogue import Gpu
from planner.catalogue.figures import Record, Source
from planner.serving.book import read_data

FILE = "launch_recipes.yaml"
EVERY = "all"


class EngineRecipe(Record):
    """What the recipe of a model says of one engine."""

    since: str | None = None
    """First version that it names."""
    flags: dict[str, str] = Field(default_factory=dict)
    """Without these the model's own checkpoint is not read."""
    attention: dict[str, str] = Field(default_factory=dict)
    """The attention backend by vendor."""
    chat: str | None = None
    """Flags that parse tool calls and reasoning."""
    besides: dict[str, str] = Field(default_factory=dict)
    """Settings of kernels: for all accelerators, a vendor or an architecture."""

    def settings(self, gpu: Gpu) -> str:
        """Return the settings of kernels for an accelerator, the general ones first; empty without any."""
        names = (EVERY, gpu.vendor.lower(), gpu.architecture.split()[0].lower())
        return " ".join(self.besides[name] for name in names if name in self.besides)


class Recipe(Record):
    """What the recipes of one model say."""

    remote_code: bool = False
    """Whether its repository has code of its own, which the engine must be allowed to run."""
    vllm: EngineRecipe | None = None
    sglang: EngineRecipe | None = None

    def of(self, engine: str) -> EngineRecipe:
        """Return what it says of an engine, by the id of its stack; nothing where it does not name it."""
        return {"vllm": self.vllm, "sglang": self.sglang}.get(engine) or EngineRecipe()


class Recipes(Record):
    """The whole file."""

    sources: dict[str, Source]
    models: dict[str, Recipe]


@cache
def recipes() -> Recipes:
    """Return the shipped recipes, read once."""
    found: Recipes = read_data(FILE, Recipes)
    return found


def recipe_of(model: str) -> Recipe:
    """Return the recipe of a model by its id; an empty one where none is published."""
    return recipes().models.get(model, Recipe())
