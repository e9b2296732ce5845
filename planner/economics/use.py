"""How much of what is paid for serves: idle hours and failed GPUs, counted once and never silently none."""

from __future__ import annotations

from planner.scenario.records import Name, Scenario, Share

HOURS_PER_YEAR = 8760.0
MONTHS_PER_YEAR = 12.0
HOURS_PER_MONTH = HOURS_PER_YEAR / MONTHS_PER_YEAR
"""730 h: the hours for which a month's price is paid."""

GIVEN_BY_YOU = "given by you"


class Use(Scenario):
    """The share of paid GPU time that serves at the rate of the prediction.

    Money per token divides by ``served``: there is no default, so that nobody takes 100 % by forgetting.
    `planner.economics.planned_use` fills what a user leaves open from the catalogue and says so;
    `FULL_LOAD` is for figures that are labelled "at full load".
    """

    utilisation: Share
    """Mean load over what the working GPUs could carry, as a share: nights and headroom are in it."""
    availability: Share
    """Share of paid GPU time in which a GPU works: failures, repairs and updates are in it."""
    provenance: Name = GIVEN_BY_YOU

    @property
    def served(self) -> float:
        """Return ``utilisation * availability``."""
        return self.utilisation * self.availability

    @property
    def at_full_load(self) -> bool:
        """Return whether nothing idles and nothing fails."""
        return self.served == 1.0

    @property
    def sentence(self) -> str:
        """Return the use as a clause that stands beside a cost."""
        if self.at_full_load:
            return "at full load: no idle and no failed GPU time is counted"
        return (
            f"{100 * self.utilisation:g} % used and {100 * self.availability:g} % available "
            f"({self.provenance})"
        )


FULL_LOAD = Use(utilisation=1.0, availability=1.0, provenance="at full load")
"""Every paid hour serves; a cost that uses it must say "at full load"."""
