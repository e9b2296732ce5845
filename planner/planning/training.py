"""A training run on one accelerator type: rates, layout, time with its interval, money and energy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.catalogue import Catalogue, Gpu, Model
from planner.catalogue.training import TrainingModel
from planner.economics import Power, PricePerHour, Use, planned_use, power_of
from planner.economics.tokens import MILLION, SECONDS_PER_HOUR, usd_per_million_tokens
from planner.errors import Unsupported
from planner.memory.built import SameModel, architecture_of
from planner.performance.deployed import usual_fabric
from planner.performance.intervals import Estimate
from planner.performance.training import Machine, TrainingStep
from planner.performance.training_rates import AchievedRate, Stack, achieved_rate, training_model
from planner.planning.training_remedies import remedies
from planner.planning.training_search import MOST_DOUBLINGS, TrainingPlan, training_plan
from planner.planning.training_time import plan_in_time
from planner.scenario.training import check_trainable

TRILLION = 1e12
HOURS_PER_DAY = 24.0
JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True, slots=True)
class Trained:
    """What one accelerator type makes of a training run.

    Parameters
    ----------
    gpu : Gpu
        The accelerator.
    plan : TrainingPlan
        The run with memory and time.
    rates : dict of str to AchievedRate
        What products reach, by dtype.
    spread : tuple of float
        10 and 90 % quantile of ln(measured / predicted).
    tokens : int or None
        Tokens of the whole training.
    price : PricePerHour or None
        Of one GPU.
    no_price : str or None
        Why there is none of the kind that was asked for.
    power : Power or None
        All-in power of one GPU.
    no_power : str
        Why it is not known.
    use : Use
        Share of the paid time that trains.
    notes : tuple of str
        What was assumed of links and rates.
    remedies : tuple of str
        What would let a run fit that does not.
    """

    gpu: Gpu
    plan: TrainingPlan
    rates: Mapping[str, AchievedRate]
    spread: tuple[float, float]
    tokens: int | None
    price: PricePerHour | None
    no_price: str | None
    power: Power | None
    no_power: str
    use: Use
    notes: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()

    @property
    def rate(self) -> AchievedRate:
        """Return the rate of the layers' products."""
        return self.rates[self.plan.run.dtype]

    @property
    def tokens_per_s(self) -> Estimate | None:
        """Return tokens of all GPUs [tok/s]; None where the run does not fit."""
        step = self.plan.step
        if step is None:
            return None
        value, (low, high) = step.tokens / step.step_s, self.spread
        said = f"simulated; products {self.rate.provenance}"
        return Estimate(value, value * math.exp(low), value * math.exp(high), said)

    @property
    def tokens_per_s_per_gpu(self) -> Estimate | None:
        """Return tokens of one GPU [tok/s]."""
        return self._scaled(1 / self.plan.run.gpus)

    @property
    def step_s(self) -> Estimate | None:
        """Return the time of an optimiser step [s]."""
        rate = self.tokens_per_s
        return None if rate is None else rate.inverse().scaled(self.plan.run.tokens)

    @property
    def flop_per_s_per_gpu(self) -> Estimate | None:
        """Return the model's FLOPs of one GPU [FLOP/s]."""
        step = self.plan.step
        return None if step is None else self._scaled(step.model_flops / step.tokens / step.gpus)

    @property
    def mfu(self) -> Estimate | None:
        """Return the model's FLOPs over the datasheet's peak of the run's format."""
        flops = self.flop_per_s_per_gpu
        return None if flops is None else flops.scaled(1 / self.rate.peak_flop_per_s)

    @property
    def hfu(self) -> Estimate | None:
        """Return the same with what is recomputed."""
        step, mfu = self.plan.step, self.mfu
        if step is None or mfu is None:
            return None
        return mfu.scaled(step.hardware_flops / step.model_flops)

    @property
    def run_hours(self) -> Estimate | None:
        """Return the time that the whole training takes, failures included [h]."""
        rate, step = self.tokens_per_s, self.plan.step
        if rate is None or step is None or self.tokens is None:
            return None
        return rate.inverse().scaled(rate.value * run_hours(step, self.tokens, self.use))

    @property
    def usd_per_trillion_tokens(self) -> Estimate | None:
        """Return what a trillion tokens cost [USD]."""
        rate = self.tokens_per_s
        if rate is None or self.price is None:
            return None
        per_million = usd_per_million_tokens(
            output_tokens_per_s=rate.value,
            gpus=self.plan.run.gpus,
            usd_per_gpu_hour=self.price.usd_per_used_hour,
        )
        return rate.inverse().scaled(rate.value * per_million * TRILLION / MILLION / self.use.served)

    @property
    def usd_of_run(self) -> Estimate | None:
        """Return what the whole training costs [USD]."""
        cost = self.usd_per_trillion_tokens
        if cost is None or self.tokens is None:
            return None
        return cost.scaled(self.tokens / TRILLION)

    @property
    def mwh_per_trillion_tokens(self) -> Estimate | None:
        """Return the energy of the computers for a trillion tokens [MWh]; the site's losses are on top."""
        rate = self.tokens_per_s
        if rate is None or self.power is None:
            return None
        watts = 1e3 * self.power.kw_per_gpu * self.plan.run.gpus
        return rate.inverse().scaled(watts * TRILLION / JOULES_PER_KWH / 1e3 / self.use.served)

    @property
    def mwh_of_run(self) -> Estimate | None:
        """Return the energy of the whole training [MWh]."""
        energy = self.mwh_per_trillion_tokens
        if energy is None or self.tokens is None:
            return None
        return energy.scaled(self.tokens / TRILLION)

    def _scaled(self, by: float) -> Estimate | None:
        rate = self.tokens_per_s
        return None if rate is None else rate.scaled(by)


def spread_of(figures: TrainingModel, step: TrainingStep | None) -> tuple[float, float]:
    """Return the 10 and 90 % quantile of ln(measured / predicted) for a step.

    Parameters
    ----------
    figures : TrainingModel
        With the quantiles over runs, and how much longer attention may take.
    step : TrainingStep or None
        The step; None where a run does not fit.

    Returns
    -------
    tuple of float
        The lower one is wider the more of the step is attention, whose error is taken as independent.
    """
    low, high = figures.interval
    if step is None:
        return low, high
    share = step.parts_s["attention"] / step.step_s
    return -math.hypot(low, math.log1p((figures.attention_slower - 1) * share)), high


def run_hours(step: TrainingStep, tokens: float, use: Use) -> float:
    """Return how long a training takes [h].

    Parameters
    ----------
    step : TrainingStep
        One step of it.
    tokens : float
        Of the whole training.
    use : Use
        Share of the time that trains.

    Returns
    -------
    float
        Tokens over the rate of all GPUs and that share.
    """
    return tokens / step.tokens * step.step_s / SECONDS_PER_HOUR / use.served


def trained(
    *,
    model: Model,
    gpu: Gpu,
    catalogue: Catalogue,
    given: Mapping[str, Any],
    gpus: int | None = None,
    tokens: int | None = None,
    days: float | None = None,
    stack: Stack = "stable",
    as_of: str | None = None,
    network_bytes_per_s: float | None = None,
    price: PricePerHour | None = None,
    no_price: str | None = None,
    kw_per_gpu: float | None = None,
    availability: float | None = None,
) -> Trained:
    """Return what one accelerator type makes of a training run.

    Parameters
    ----------
    model : Model
        A dense language model.
    gpu : Gpu
        The accelerator.
    catalogue : Catalogue
        Where rates, links and power stand.
    given : mapping
        Fields of `planner.scenario.training.TrainingRun` that are stated; the others are searched.
    gpus : int, optional
        GPUs of the run; the fewest that hold it by default.
    tokens : int, optional
        Tokens of the whole training.
    days : float, optional
        How long that may take; the fewest GPUs that do it are found, instead of `gpus`.
    stack, as_of : str, optional
        Which rate of products counts (`achieved_rate`).
    network_bytes_per_s : float, optional
        One-way line rate between nodes for each GPU [bytes/s], instead of the catalogue's.
    price, no_price
        Price of one GPU, or why there is none.
    kw_per_gpu : float, optional
        All-in power of one GPU [kW], instead of what is published.
    availability : float, optional
        Share of the paid time in which the run makes progress; the catalogue's by default.

    Returns
    -------
    Trained

    Raises
    ------
    PlannerError
        For a model that is not dense, a format that the accelerator lacks, and sizes that are not legal.
    """
    architecture = architecture_of(SameModel(model))
    check_trainable(architecture, model.name)
    dtypes = dict.fromkeys(("bf16", given.get("dtype", "bf16")))
    rates = {dtype: achieved_rate(catalogue, gpu, dtype, stack=stack, as_of=as_of) for dtype in dtypes}
    fabric, notes = usual_fabric(gpu, 1 << MOST_DOUBLINGS, catalogue, network_bytes_per_s)
    figures = training_model(catalogue)
    machine = Machine(gpu, fabric, figures, {dtype: rate.flop_per_s for dtype, rate in rates.items()})
    use = planned_use(catalogue, 1.0, availability)

    def plan_with(fields: Mapping[str, Any], count: int | None) -> TrainingPlan:
        return training_plan(architecture, machine, given=fields, gpus=count, name=model.name)

    def plan_of(count: int | None) -> TrainingPlan:
        return plan_with(given, count)

    def hours_of(found: TrainingPlan) -> float:
        assert found.step is not None
        return run_hours(found.step, float(tokens or 0), use)

    if days is None:
        plan = plan_of(gpus)
    else:
        stated = math.prod(given.get(size, 1) for size in ("tp", "pp", "dp"))
        limit = HOURS_PER_DAY * days
        plan = plan_in_time(plan_of, hours_of, hours=limit, node_gpus=gpu.node_gpus, stated=stated)
    more = figures.unmeasured if any(rate.assumed for rate in rates.values()) else 0.0
    low, high = spread_of(figures, plan.step)
    try:
        power, no_power = power_of(gpu, catalogue, kw_per_gpu=kw_per_gpu), ""
    except Unsupported as error:
        power, no_power = None, str(error)
    return Trained(
        gpu=gpu,
        plan=plan,
        rates=rates,
        spread=(low - more, high + more),
        tokens=tokens,
        price=price,
        no_price=no_price,
        power=power,
        no_power=no_power,
        use=use,
        remedies=() if plan.step else remedies(plan_with, plan, given),
        notes=notes if plan.run.gpus > gpu.node_gpus else (),
    )
