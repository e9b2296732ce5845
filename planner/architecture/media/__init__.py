"""Generative media: diffusion transformers, encoders of text and pictures, autoencoders, as counted work."""

from planner.architecture.media.build import build_component
from planner.architecture.media.work import Component, Job, Work

__all__ = ["Component", "Job", "Work", "build_component"]
