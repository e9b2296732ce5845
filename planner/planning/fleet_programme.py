"""The integer programme of a fleet: replicas and nodes that carry every demand, by scipy's HiGHS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.planning.fleet import HOURS_PER_MONTH, FleetProblem
from planner.planning.quiet import output_aside

Floats = npt.NDArray[np.float64]

OPTIMAL, TIME_LIMIT = 0, 1
"""What scipy's `milp` returns as its status."""

KEPT = 1e-9
"""Share of what the first objective reached that the second may give up, for the sake of rounding."""


class TimeUpError(Exception):
    """The time ended before any solution was found."""


@dataclass(frozen=True, slots=True)
class Cap:
    """A limit on the units of all types: their sum with these factors stays below it.

    Parameters
    ----------
    name, unit : str
        For messages.
    factors : array, shape (supplies,)
        What one unit of each type takes.
    most : float
        The limit.
    mean : bool
        Whether it holds for the mean of all hours, and not in each.
    """

    name: str
    unit: str
    factors: Floats
    most: float
    mean: bool = False


@dataclass(frozen=True, slots=True)
class Solved:
    """A solution of the programme.

    Parameters
    ----------
    replicas : array, shape (offers, hours or 1)
        Replicas.
    units : array, shape (supplies, hours or 1)
        Units, spares included.
    served : array, shape (demands, hours)
        Requests served [requests/s].
    objective, bound : float
        The value reached, and the best that can be.
    optimal : bool
        Whether the solver ended before its time.
    variables, constraints : int
        Size.
    """

    replicas: Floats
    units: Floats
    served: Floats
    objective: float
    bound: float
    optimal: bool
    variables: int
    constraints: int


def caps_of(problem: FleetProblem) -> list[Cap]:
    """Return every limit of a fleet in one form: stock, budgets, power.

    Parameters
    ----------
    problem : FleetProblem
        What was asked.

    Returns
    -------
    list of Cap
    """
    supplies, limits = problem.supplies, problem.limits
    sizes = np.array([one.unit_gpus for one in supplies], float)

    def each(field: str) -> Floats:
        found: Floats = sizes * np.array([getattr(one, field) or 0.0 for one in supplies], float)
        return found

    caps = [
        Cap(
            f"stock of {one.gpu}", "GPUs", np.where(np.arange(len(supplies)) == i, sizes, 0.0), one.stock_gpus
        )
        for i, one in enumerate(supplies)
        if one.stock_gpus is not None
    ]
    usd = each("usd_per_gpu_hour")
    if limits.usd_per_hour is not None:
        caps.append(Cap("usd_per_hour", "USD/h", usd, limits.usd_per_hour))
    if limits.usd_per_month is not None:
        caps.append(Cap("usd_per_month", "USD", HOURS_PER_MONTH * usd, limits.usd_per_month, mean=True))
    if limits.capex_usd is not None:
        caps.append(Cap("capex_usd", "USD", each("capex_usd_per_gpu"), limits.capex_usd))
    if limits.power_kw is not None:
        caps.append(Cap("power_kw", "kW", each("kw_per_gpu"), limits.power_kw))
    return caps


class Programme:
    """The matrices of one fleet and one objective.

    Columns are the replicas x of each offer (in each hour, unless they are fixed), the units n of each type
    (in each hour, where they are rented so), whether a type is used at all (where spares are asked), and what
    is served of each demand (where not all of it need be). Each row of demand is divided by the demand, so
    that the solver's tolerance is a share of it.

    Parameters
    ----------
    problem : FleetProblem
        What was asked.
    caps : sequence of Cap
        The limits that hold.
    serve_all : bool
        Whether every demand must be met.
    peak_of : array, shape (supplies,), optional
        Factors whose sum over the units gets a last column that is as large as in its highest hour.
    """

    def __init__(
        self,
        problem: FleetProblem,
        caps: Sequence[Cap],
        *,
        serve_all: bool,
        peak_of: Floats | None = None,
    ) -> None:
        self.problem, self.caps, self.serve_all, self.peak_of = problem, caps, serve_all, peak_of
        self.demand = np.array([one.rates_per_s for one in problem.demands], float)
        self.offers, self.supplies = len(problem.offers), len(problem.supplies)
        hours = problem.hours
        self.x_hours = 1 if problem.scaling == "fixed" else hours
        self.n_hours = hours if problem.scaling == "hourly" else 1
        self.n_at = self.offers * self.x_hours
        self.u_at = self.n_at + self.supplies * self.n_hours
        self.z_at = self.u_at + (self.supplies * self.n_hours if problem.spare_units else 0)
        self.columns = self.z_at + (0 if serve_all else self.demand.size) + (peak_of is not None)
        self._rows: list[tuple[dict[int, float], float, float]] = []
        self._lower, self._upper = np.zeros(self.columns), np.full(self.columns, np.inf)
        self._build()

    def x(self, offer: int, hour: int) -> int:
        """Return the column of the replicas of an offer."""
        return offer * self.x_hours + (hour if self.x_hours > 1 else 0)

    def n(self, supply: int, hour: int) -> int:
        """Return the column of the units of a type."""
        return self.n_at + supply * self.n_hours + (hour if self.n_hours > 1 else 0)

    def _used(self, supply: int, hour: int) -> int:
        return self.u_at + supply * self.n_hours + (hour if self.n_hours > 1 else 0)

    def _served(self, demand: int, hour: int) -> int:
        return self.z_at + demand * int(self.demand.shape[1]) + hour

    def _build(self) -> None:
        problem = self.problem
        self._of_gpu = [
            [i for i, offer in enumerate(problem.offers) if offer.gpu == supply.gpu]
            for supply in problem.supplies
        ]
        self._share = [problem.unit_share(offer) for offer in problem.offers]
        self._demand_rows()
        for hour in range(self.x_hours):
            for g in range(self.supplies):
                self._unit_row(g, hour)
        for hour in range(self.n_hours):
            for g in range(self.supplies):
                self._bound_units(g, hour)
        for cap in self.caps:
            self._cap_rows(cap)
        if self.peak_of is not None:
            self._peak_rows(self.peak_of)

    def _peak_rows(self, factors: Floats) -> None:
        for hour in range(self.n_hours):
            row = {self.n(g, hour): float(factor) for g, factor in enumerate(factors) if factor}
            self._rows.append(({**row, self.columns - 1: -1.0}, -np.inf, 0.0))

    def _demand_rows(self) -> None:
        models = [one.model for one in self.problem.demands]
        fixed = self.x_hours == 1 and self.serve_all
        for m, model in enumerate(models):
            of_model = [i for i, offer in enumerate(self.problem.offers) if offer.model == model]
            peak = float(self.demand[m].max())
            for i in of_model:
                most = np.array([math.ceil(peak / self.problem.offers[i].rate_per_s)], float)
                self._upper[self.x(i, 0) : self.x(i, 0) + self.x_hours] = most
            # Replicas that stay are decided by the busiest hour alone.
            hours = [int(self.demand[m].argmax())] if fixed else range(self.demand.shape[1])
            for hour in hours:
                asked = float(self.demand[m, hour])
                if not self.serve_all:
                    self._upper[self._served(m, hour)] = asked
                if asked == 0:
                    continue
                row = {self.x(i, hour): self.problem.offers[i].rate_per_s / asked for i in of_model}
                if self.serve_all:
                    self._rows.append((row, 1.0, np.inf))
                else:
                    self._rows.append(({**row, self._served(m, hour): -1.0 / asked}, 0.0, np.inf))

    def _unit_row(self, g: int, hour: int) -> None:
        """Replicas of an hour, and the spares of a type in use, lie in its units."""
        row = {self.x(i, hour): -self._share[i] for i in self._of_gpu[g]}
        row[self.n(g, hour)] = 1.0
        if self.problem.spare_units:
            row[self._used(g, hour)] = -float(self.problem.spare_units)
        self._rows.append((row, 0.0, np.inf))

    def _bound_units(self, g: int, hour: int) -> None:
        most = sum(self._share[i] * self._upper[self.x(i, hour)] for i in self._of_gpu[g])
        most = math.ceil(most) + self.problem.spare_units
        self._upper[self.n(g, hour)] = most
        if self.problem.spare_units:
            self._upper[self._used(g, hour)] = 1.0
            self._rows.append(({self.n(g, hour): 1.0, self._used(g, hour): -float(most)}, -np.inf, 0.0))

    def _cap_rows(self, cap: Cap) -> None:
        every = [(g, hour) for g in range(self.supplies) for hour in range(self.n_hours) if cap.factors[g]]
        if cap.mean:
            row = {self.n(g, hour): cap.factors[g] / self.n_hours for g, hour in every}
            self._rows.append((row, -np.inf, cap.most))
            return
        for hour in range(self.n_hours):
            row = {self.n(g, hour): cap.factors[g] for g, at in every if at == hour}
            self._rows.append((row, -np.inf, cap.most))

    def cost(self, factors: Floats) -> Floats:
        """Return the objective that is a sum over units, on average over the hours."""
        found = np.zeros(self.columns)
        for g in range(self.supplies):
            found[self.n(g, 0) : self.n(g, 0) + self.n_hours] = factors[g] / self.n_hours
        return found

    def peak(self) -> Floats:
        """Return the objective that is the last column."""
        found = np.zeros(self.columns)
        found[-1] = 1.0
        return found

    def unserved(self) -> Floats:
        """Return the objective that is less the more is served, weighted."""
        found = np.zeros(self.columns)
        for m, demand in enumerate(self.problem.demands):
            at = self._served(m, 0)
            found[at : at + self.demand.shape[1]] = -demand.weight / self.demand.shape[1]
        return found

    def keep(self, objective: Floats, value: float) -> None:
        """Add that an objective stays as good as it is."""
        row = {int(i): float(objective[i]) for i in np.flatnonzero(objective)}
        self._rows.append((row, -np.inf, value + KEPT * abs(value)))

    def busy(self, factors: Floats) -> Floats:
        """Return the objective that is a sum over the units that replicas fill, spares left out."""
        found = np.zeros(self.columns)
        for g, offers in enumerate(self._of_gpu):
            for i in offers:
                found[self.x(i, 0) : self.x(i, 0) + self.x_hours] = factors[g] * self._share[i]
        return found

    def fix_units(self, units: Floats) -> None:
        """Allow these units only.

        Parameters
        ----------
        units : array, shape (supplies, hours or 1)
            Units of each type.
        """
        flat = units.ravel()
        self._lower[self.n_at : self.u_at] = flat
        self._upper[self.n_at : self.u_at] = flat

    def solve(
        self, objective: Floats, *, gap: float, time_limit_s: float, whole_replicas: bool = True
    ) -> Solved | None:
        """Return the best solution that was found in the time.

        Parameters
        ----------
        objective : array, shape (columns,)
            What becomes least.
        gap : float
            Share of the objective at which the search ends.
        time_limit_s : float
            When it ends in any case [s].
        whole_replicas : bool
            Whether replicas are whole numbers; units always are. Without, the solution is a bound.

        Returns
        -------
        Solved or None
            None where there is no solution.

        Raises
        ------
        TimeUpError
            Where the time ends before one is found.
        """
        from scipy.optimize import Bounds, milp

        integral = np.ones(self.columns)
        integral[self.z_at :] = 0
        integral[: self.n_at] = whole_replicas
        with output_aside():
            found: Any = milp(
                objective,
                constraints=self._constraints(),
                integrality=integral,
                bounds=Bounds(self._lower, self._upper),
                options={"mip_rel_gap": gap, "time_limit": max(time_limit_s, 0.01)},
            )
        if found.x is None:
            if found.status == TIME_LIMIT:
                raise TimeUpError
            return None
        values = found.x.copy()
        whole = integral > 0
        values[whole] = np.rint(values[whole])
        bound = found.fun if found.mip_dual_bound is None else found.mip_dual_bound
        return Solved(
            replicas=values[: self.n_at].reshape(self.offers, self.x_hours),
            units=values[self.n_at : self.u_at].reshape(self.supplies, self.n_hours),
            served=self.demand.copy() if self.serve_all else self._served_of(values),
            objective=float(found.fun),
            bound=float(bound),
            optimal=found.status == OPTIMAL,
            variables=self.columns,
            constraints=len(self._rows),
        )

    def _served_of(self, values: Floats) -> Floats:
        return values[self.z_at : self.z_at + self.demand.size].reshape(self.demand.shape)

    def _constraints(self) -> Any:
        from scipy.optimize import LinearConstraint
        from scipy.sparse import csr_array

        counts = [len(row) for row, _, _ in self._rows]
        indices = np.array([column for row, _, _ in self._rows for column in row], dtype=np.int32)
        values = np.array([value for row, _, _ in self._rows for value in row.values()], dtype=float)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        matrix = csr_array((values, indices, starts), shape=(len(self._rows), self.columns))
        low, high = (np.array([row[side] for row in self._rows], dtype=float) for side in (1, 2))
        return LinearConstraint(matrix, low, high)
