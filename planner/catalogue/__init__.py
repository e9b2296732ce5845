"""Accelerators, models, prices and stacks as frozen records, read from YAML."""

from planner.catalogue.figures import Achieved, Confidence, Figure, Record, Source
from planner.catalogue.gpu import Gpu
from planner.catalogue.integrity import Problem, check_gpu, check_price
from planner.catalogue.loader import Catalogue, load_catalogue
from planner.catalogue.models import Model
from planner.catalogue.price import Price, PriceKind

__all__ = [
    "Achieved",
    "Catalogue",
    "Confidence",
    "Figure",
    "Gpu",
    "Model",
    "Price",
    "PriceKind",
    "Problem",
    "Record",
    "Source",
    "check_gpu",
    "check_price",
    "load_catalogue",
]
