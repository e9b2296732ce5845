"""Fit the parameters of link families to measured collectives.

python benchmarks/fit_collectives.py               every family that has rows
python benchmarks/fit_collectives.py nvlink4 pcie  some of them

Least squares of the logarithms, in which errors above 6 % count by their size and not by their square, held
loosely by the shipped parameters. Prints the parameters as `data/hardware.yaml` writes them, for a person to
copy what is better.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from planner.catalogue import Catalogue, load_catalogue
from planner.catalogue.fabrics import Algorithm, LinkFamily, family_of
from planner.measurement.collective_rows import CollectiveRow, collective_rows
from planner.performance.collectives import collective_s
from planner.performance.fabric import fabric_of

Array = NDArray[np.float64]
KNEE = 0.06
"""Relative error up to which an error counts by its square."""
HOLD = {"floor": 1.5, "step": 1.0, "fill": 1.0, "share": 1.5}
"""How far parameters may drift from the shipped ones, as standard deviations of logarithm or logit."""
LINE_SHARE = 0.97
"""No network reaches more of its line rate."""


class Problem:
    """The free parameters of one family and the rows that they shall explain."""

    def __init__(self, catalogue: Catalogue, family: LinkFamily, rows: Iterable[CollectiveRow]) -> None:
        self.families, self.family = catalogue.fabrics(), family
        self.names = [
            (name, field, ranks)
            for name, algorithm in family.algorithms.items()
            if algorithm.confidence == "inferred"
            for field in ("floor", "step", "fill", "share")
            for ranks in (algorithm.share if field == "share" else (0,))
            if field == "share" or getattr(algorithm, field) > 0
        ]
        self.start = np.array([self._free(family.algorithms[name], *rest) for name, *rest in self.names])
        self.hold = np.array([HOLD[field] for _, field, _ in self.names])
        groups = defaultdict(list)
        for row in rows:
            groups[row.gpu, row.kind, row.engine, row.ranks, row.top_k].append(row)
        self.groups = [
            (catalogue.gpu(key[0]), key, np.array([r.bytes for r in g]), np.log([r.seconds for r in g]))
            for key, g in groups.items()
        ]

    @staticmethod
    def _free(algorithm: Algorithm, field: str, ranks: int) -> float:
        value = algorithm.share[ranks] if field == "share" else getattr(algorithm, field)
        return float(np.log(value / (1.0001 - value)) if field == "share" else np.log(value))

    def made(self, x: Array) -> LinkFamily:
        """Return the family with these parameters."""
        algorithms = dict(self.family.algorithms)
        for (name, field, ranks), value in zip(self.names, x, strict=True):
            old = algorithms[name]
            new: object = float(np.exp(value))
            if field == "share":
                most = LINE_SHARE if name.startswith("network") else 1.0
                new = old.share | {ranks: min(float(1.0001 / (1 + np.exp(-value))), most)}
            algorithms[name] = old.model_copy(update={field: new})
        return self.family.model_copy(update={"algorithms": algorithms})

    def errors(self, x: Array) -> Array:
        """Return the logarithm of predicted over measured time, for every row."""
        families = self.families | {self.family.id: self.made(x)}
        return np.concatenate(
            [
                np.log(
                    collective_s(key[1], sizes, key[3], fabric_of(gpu, families), engine=key[2], top_k=key[4])
                )
                - measured
                for gpu, key, sizes, measured in self.groups
            ]
        )

    def cost(self, errors: Array, x: Array) -> float:
        """Return what is to be made small."""
        z = np.abs(errors) / KNEE
        return float(
            np.where(z < 1, z**2 / 2, z - 0.5).sum() + (((x - self.start) / self.hold) ** 2).sum() / 2
        )

    def solve(self) -> tuple[Array, Array]:
        """Return parameters and errors after Levenberg-Marquardt steps with reweighting."""
        x, damping = self.start.copy(), 1e-2
        errors = self.errors(x)
        for _ in range(60):
            slopes = np.stack([(self.errors(x + step) - errors) / 1e-4 for step in 1e-4 * np.eye(x.size)], 1)
            weights = 1 / np.maximum(np.abs(errors) / KNEE, 1) / KNEE**2
            normal = slopes.T @ (slopes * weights[:, None]) + np.diag(self.hold**-2)
            gradient = slopes.T @ (weights * errors) + (x - self.start) / self.hold**2
            before = self.cost(errors, x)
            for _ in range(8):
                step = -np.linalg.solve(normal + damping * np.diag(np.diag(normal)), gradient)
                tried = x + np.clip(step, -0.7, 0.7)
                found = self.errors(tried)
                if self.cost(found, tried) < before:
                    x, errors, damping = tried, found, max(damping / 4, 1e-6)
                    break
                damping *= 5
            if before - self.cost(errors, x) < 1e-4 * before:
                break
        return x, errors


def shown(family: LinkFamily) -> Iterable[str]:
    """Yield the lines of `data/hardware.yaml`."""
    for name, algorithm in family.algorithms.items():
        shares = ", ".join(f"{ranks}: {100 * share:.3g} %" for ranks, share in algorithm.share.items())
        times = ", ".join(
            f"{field}: {getattr(algorithm, field) * 1e6:.3g} us" for field in ("floor", "step", "fill")
        )
        yield f"      {name}: {{{times}, share: {{{shares}}}}}"


def main() -> None:
    """Fit the families named on the command line, or all that have rows."""
    catalogue = load_catalogue()
    families = catalogue.fabrics()
    by_family = defaultdict(list)
    for row in collective_rows(catalogue):
        gpu = catalogue.gpu(row.gpu)
        # DeepEP is not the kernel that an NVL72 rack uses; all-reduces between nodes are fitted by hand.
        foreign = "nvl72" in row.gpu and "deepep_low" in row.op
        between = row.nodes > 1 and row.kind == "all_reduce"
        if gpu.scale_up and gpu.scale_up.topology != "none" and not foreign and not between:
            by_family[family_of(gpu, families.values()).id].append(row)
    for name in sys.argv[1:] or by_family:
        problem = Problem(catalogue, families[name], by_family[name])
        x, errors = problem.solve()
        half, most = np.quantile(np.abs(errors), [0.5, 0.9])
        print(f"  {name}:  # {errors.size} rows, median error {half:.1%}, nine of ten within {most:.1%}")
        print("\n".join(shown(problem.made(x))))


if __name__ == "__main__":
    main()
