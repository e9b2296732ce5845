"""A day of requests with what a plan carries, GPUs of each plan, and the GPUs of a fleet by model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.figures.style import INK, SERIES, error_bar, gpu_colours, styled
from planner.report.sentences import gpu_label

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.planning.fleet import FleetPlan
    from planner.planning.plan import GpuPlan
    from planner.report.plan import PlanReport


def day_figure(plan: GpuPlan) -> Figure:
    """Return the requests of each hour, and what the replicas carry at a fixed size and by the hour.

    Parameters
    ----------
    plan : GpuPlan
        A plan with hours.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Bar, Figure, Scatter

    hours = [hour.hour for hour in plan.hours]
    usable = plan.sized.usable_per_s
    figure = Figure(
        Bar(
            x=hours,
            y=[hour.planned_per_s for hour in plan.hours],
            name="requests to plan for",
            marker={"color": SERIES[4]},
            customdata=[[hour.mean_per_s, hour.sized.replicas, hour.sized.gpus] for hour in plan.hours],
            hovertemplate="hour %{x}: %{y:.3g} requests/s to plan for<br>%{customdata[0]:.3g} on average<br>"
            "%{customdata[1]} replicas, %{customdata[2]} GPUs by the hour<extra></extra>",
        )
    )
    figure.add_trace(
        Scatter(
            x=hours,
            y=[hour.sized.working * usable for hour in plan.hours],
            name="carried, size by the hour",
            line={"color": SERIES[0], "shape": "hvh"},
            hovertemplate="%{y:.3g} requests/s at the utilisation, spares aside<extra></extra>",
        )
    )
    figure.add_trace(
        Scatter(
            x=hours,
            y=[plan.sized.working * usable] * len(hours),
            name="carried, fixed size",
            line={"color": SERIES[5], "dash": "dash"},
            hovertemplate="%{y:.3g} requests/s at the utilisation, spares aside<extra></extra>",
        )
    )
    return styled(figure, x="hour of the day", y="requests/s")


def gpus_figure(report: PlanReport) -> Figure:
    """Return the GPUs of each plan with their 80 % intervals.

    Parameters
    ----------
    report : PlanReport
        Plans on one or several accelerator types.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Bar, Figure

    plans = [answer.plan for answer in report if answer.plan is not None]
    colours = gpu_colours([(plan.gpu.id, plan.gpu.vendor) for plan in plans])
    bar = Bar(
        x=[gpu_label(plan.gpu.id) for plan in plans],
        y=[plan.sized.gpus for plan in plans],
        error_y=error_bar(
            [float(plan.sized.gpus) for plan in plans],
            [float(plan.interval[0]) for plan in plans],
            [float(plan.interval[1]) for plan in plans],
        ),
        marker={"color": [colours[plan.gpu.id] for plan in plans]},
        customdata=[
            [plan.candidate.label, plan.sized.replicas, plan.sized.spares.groups, plan.usd_per_hour or 0.0]
            for plan in plans
        ],
        hovertemplate="%{y} GPUs: %{customdata[1]} replicas of %{customdata[0]}, "
        "%{customdata[2]} spare groups<br>%{customdata[3]:,.2f} USD/h<extra>%{x}</extra>",
    )
    return styled(Figure(bar), x="", y="GPUs", bargap=0.5, showlegend=False)


def fleet_figure(plan: FleetPlan) -> Figure:
    """Return the GPUs of each type in the busiest hour: those of each model, and what is free or spare.

    Parameters
    ----------
    plan : FleetPlan
        A fleet.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    from plotly.graph_objects import Bar, Figure

    gpus = [stand.supply.gpu for stand in plan.stands]
    most = {stand.supply.gpu: max(stand.gpus) for stand in plan.stands}
    models = [one.model for one in plan.problem.demands]
    figure, taken = Figure(), dict.fromkeys(gpus, 0)
    for model, colour in zip(models, SERIES * len(models), strict=False):
        used = {
            gpu: sum(
                one.offer.gpus * max(one.replicas)
                for one in plan.placements
                if (one.offer.model, one.offer.gpu) == (model, gpu)
            )
            for gpu in gpus
        }
        for gpu in gpus:
            taken[gpu] += used[gpu]
        figure.add_trace(
            Bar(
                x=[gpu_label(gpu) for gpu in gpus],
                y=[used[gpu] for gpu in gpus],
                name=model,
                marker={"color": colour},
                hovertemplate="%{y} GPUs<extra>" + model + "</extra>",
            )
        )
    figure.add_trace(
        Bar(
            x=[gpu_label(gpu) for gpu in gpus],
            y=[max(most[gpu] - taken[gpu], 0) for gpu in gpus],
            name="spare or free",
            marker={"color": INK, "opacity": 0.4},
            hovertemplate="%{y} GPUs spare or free<extra></extra>",
        )
    )
    return styled(figure, x="", y="GPUs in the busiest hour", barmode="stack", bargap=0.5)
