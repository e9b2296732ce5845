"""Predictions made by hand, so that tests of reports do not move with the time model."""

from __future__ import annotations

from planner.economics import PricePerHour
from planner.measurement.operating_point import AT, MeasuredPoint
from planner.measurement.predicted import Pools, Predicted
from planner.measurement.serving import load_serving, serving_directory
from planner.performance.breakdown import Bounds, KernelAssumed, StepRow
from planner.performance.intervals import Estimate
from planner.performance.predict import Prediction
from planner.planning.load import Load
from planner.planning.sizing import Judgement
from planner.report.prediction import PredictAnswer, PredictReport
from tests.report.made import answer as fit_answer
from tests.report.made import judged

SAID = "calibrated: 1,000 points (2026-11)"
FIGURES = (
    "output_tps_total",
    "output_tps_per_gpu",
    "total_tps_per_gpu",
    "tps_per_user",
    "ttft_ms",
    "tpot_ms",
)


def estimate(value: float, spread: float = 0.25) -> Estimate:
    """Return a figure with an even interval."""
    return Estimate(value, value * (1 - spread), value * (1 + spread), SAID)


def prediction(*, gpu: str = "mi355x", gpus: int = 8, tps: float = 1000.0) -> Prediction:
    """Return a prediction in round numbers: 32 requests at once, 1,024 tokens in and 512 out."""
    return Prediction(
        model="made-1t",
        gpu=gpu,
        engine="vllm",
        gpus=gpus,
        isl=1024.0,
        osl=512.0,
        concurrency=32.0,
        request_rate_per_s=tps / 512,
        output_tps_total=estimate(tps),
        output_tps_per_gpu=estimate(tps / gpus),
        total_tps_per_gpu=estimate(3 * tps / gpus),
        tps_per_user=estimate(32.0),
        ttft_ms=estimate(250.0, 0.5),
        tpot_ms=estimate(31.25),
        ttft_mean_ms=12_500.0,
        batch=31.0,
        most_requests=400.0,
        bound_by="memory bandwidth",
        step_breakdown=(
            StepRow("routed experts", 0.020, 0.64, "memory bandwidth"),
            StepRow("collectives", 0.010, 0.32, "links"),
            StepRow("host", 0.00125, 0.04, "host"),
        ),
        kernels=(
            KernelAssumed(
                operator="mla",
                phase="prefill",
                kernel="AITER fallback",
                compute_dtype="bf16",
                slowdown=2.5,
                padding=1.0,
                note="12 heads have no fast kernel",
                remedy="pad the heads to 16",
                source="published: made (2026-11)",
            ),
            KernelAssumed(
                operator="moe_gemm",
                phase="both",
                kernel="A8W4",
                compute_dtype="fp8",
                slowdown=1.0,
                padding=4 / 3,
                note="FP8 activations on FP4 weights",
                remedy=None,
                source="published: made (2026-11)",
            ),
        ),
        bounds=Bounds(fastest_step_s=0.012, serial_step_s=0.040, most_output_tps=2500.0),
        tokens_per_step=1.0,
        warnings=("mla: 12 heads have no fast kernel; pad the heads to 16",),
        provenance=SAID,
    )


def load(*, rate: float | None = None) -> Load:
    """Return the load of the predictions."""
    return Load(1024, 512, None if rate else 32, rate)


def measured(total: float = 952.0) -> MeasuredPoint:
    """Return a measured rate, from the row of a shipped file."""
    row = load_serving(serving_directory() / "wafer_kimi_k3.csv")[0]
    low, high = total / 1.12, total * 1.12
    figures = {"output_tps_total": Estimate(total, low, high, "measured: Wafer Kimi K3 post (2026-08)")}
    return MeasuredPoint(AT, (row,), 2, figures)


def answer(
    *, gpu: str = "mi355x", tps: float = 1000.0, price: float | None = None, seen: MeasuredPoint | None = None
) -> PredictAnswer:
    """Return an answer with figures; those of `seen` take the place of the model's."""
    fit = fit_answer(gpu=gpu, price=price)
    made = prediction(gpu=gpu, tps=tps)
    figures = {name: getattr(made, name) for name in FIGURES}
    figures.update(seen.figures if seen else {})
    judgement = Judgement(fit.memory, None, fit.memory)
    notes = ("no sizes were given: the smallest deployment that holds 32 requests at once is taken",)
    return PredictAnswer(fit, Predicted(judgement, made, seen, figures, notes=notes), load())


def disaggregated() -> PredictAnswer:
    """Return an answer of two pools."""
    fit = fit_answer(gpu="b200-sxm", price=4.0)
    made = prediction(gpu="b200-sxm", gpus=24, tps=6000.0)
    figures = {name: getattr(made, name) for name in FIGURES}
    pools = Pools(prefill_gpus=8, decode_gpus=16)
    found = Predicted(Judgement(fit.memory, None, fit.memory), made, None, figures, pools=pools)
    return PredictAnswer(fit, found, load())


def overloaded() -> PredictAnswer:
    """Return an answer about a load that cannot be carried."""
    fit = fit_answer(gpu="b300-sxm")
    said = "request rate 50/s is above what this deployment carries, 4.0 requests/s"
    found = Predicted(Judgement(fit.memory, None, fit.memory), None, None, {}, overload=said)
    return PredictAnswer(fit, found, load(rate=50.0))


def refused() -> PredictAnswer:
    """Return an answer about what does not fit."""
    fit = judged(weights_gib=190.0)
    return PredictAnswer(fit, Predicted(Judgement(fit.memory, None, fit.smallest), None, None, {}), load())


def given(usd: float) -> PricePerHour:
    """Return a price that a user states."""
    return PricePerHour(usd, "given", "given by you")


def report(*answers: PredictAnswer) -> PredictReport:
    """Return a report of some answers."""
    return PredictReport(answers)
