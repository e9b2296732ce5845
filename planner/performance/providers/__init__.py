"""Other predictors beside planner's own, each optional: one interface, and who is known."""

from planner.performance.providers.interface import (
    GROUP,
    Provided,
    Provider,
    ProviderPoint,
    provider,
    provider_names,
)

__all__ = ["GROUP", "Provided", "Provider", "ProviderPoint", "provider", "provider_names"]
