"""The answer to "which accelerator": side by side, in order, how sure that is, and what would flip it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from planner.economics import DOLLAR, Currency, PricePerHour, Use
from planner.economics.per_token import TokenCosts, token_costs
from planner.measurement.compared import MISSES, NO_FIT, Compared
from planner.performance.intervals import Estimate
from planner.planning.compare import Option, Ranking, merit, rank
from planner.report.compare_records import compare_record, flat_record
from planner.report.compare_tables import compare_sources, compare_tables
from planner.report.compare_text import about_text, pair_sentence, report_sentence
from planner.report.figures.named import NamedFigure
from planner.report.fit import FitAnswer
from planner.report.hosted import HostedAnswer
from planner.report.sentences import gpu_label, reason
from planner.report.several import Answers
from planner.report.table import Table

if TYPE_CHECKING:
    from planner.planning.compare_kinds import KindRanking
    from planner.planning.load import Load
    from planner.scenario.slo import LatencySlo


@dataclass(frozen=True, slots=True, repr=False)
class CompareAnswer:
    """One accelerator of a comparison.

    Parameters
    ----------
    fit : FitAnswer
        The memory of one copy, with names and the price.
    found : Compared
        What it yields, and how that was chosen.
    load : Load
        The load that was asked for.
    use : Use
        Which share of what is paid serves.
    kw_per_gpu : float or None
        All-in power of one GPU [kW].
    vendor : str
        Who makes it.
    rank : int or None
        Its place; what the uncertainty does not tell apart shares one. None without figures.
    """

    fit: FitAnswer
    found: Compared
    load: Load
    use: Use
    kw_per_gpu: float | None = None
    vendor: str = ""
    rank: int | None = None

    @property
    def gpu(self) -> str:
        """Return the id of the accelerator."""
        return self.fit.gpu

    @property
    def answered(self) -> bool:
        """Return whether there are figures."""
        return self.found.answered

    @property
    def gpus(self) -> int:
        """Return the GPUs of all copies and pools."""
        return self.found.gpus or self.fit.gpus

    @property
    def nodes(self) -> int:
        """Return the nodes that they take at least."""
        return -(-self.gpus // self.fit.node_gpus)

    @property
    def layout(self) -> str:
        """Return the parallel sizes, such as "TP8 PP2"."""
        return self.found.label or self.fit.memory.deployment.layout

    @property
    def price(self) -> PricePerHour | None:
        """Return the price of one GPU."""
        return self.fit.price

    @property
    def figures(self) -> dict[str, Estimate]:
        """Return the figures by name, each with its interval and where it comes from."""
        return self.found.figures or {}

    @property
    def kw(self) -> float | None:
        """Return the all-in power of all GPUs [kW]."""
        return None if self.kw_per_gpu is None else self.gpus * self.kw_per_gpu

    @property
    def usd_per_hour(self) -> float | None:
        """Return what all GPUs cost an hour, used or not [USD/h]."""
        return None if self.price is None else self.gpus * self.price.usd_per_gpu_hour

    @property
    def costs(self) -> TokenCosts[Estimate] | None:
        """Return what tokens cost with the use that was planned; None without a price or a rate."""
        rate = self.figures.get("output_tps_total")
        if rate is None or self.price is None:
            return None
        return token_costs(
            output_tps_total=rate,
            isl=self.load.isl,
            osl=self.load.osl,
            gpus=self.gpus,
            usd_per_gpu_hour=self.price.usd_per_gpu_hour,
            use=self.use,
            prefix_hit=self.load.prefix_hit,
            prefill_share=self.found.prefill_share,
            kw_per_gpu=self.kw_per_gpu,
        )

    @property
    def joules_per_output_token(self) -> Estimate | None:
        """Return the energy of an output token while serving, all-in [J]."""
        rate = self.figures.get("output_tps_total")
        return None if rate is None or self.kw is None else rate.inverse().scaled(1e3 * self.kw)

    @property
    def output_tps_per_usd_per_hour(self) -> Estimate | None:
        """Return the output rate while serving for each dollar an hour; None without a price or rate."""
        option = self.option
        return None if option is None or option.usd_per_gpu_hour is None else merit(option)

    @property
    def option(self) -> Option | None:
        """Return what is ranked; None without figures."""
        rate = self.figures.get("output_tps_per_gpu")
        return None if rate is None else self._option(rate, self.found.source == "measured")

    @property
    def simulated_option(self) -> Option | None:
        """Return the same on the figures of the model alone; None without them."""
        rate = (self.found.simulated or {}).get("output_tps_per_gpu")
        return None if rate is None else self._option(rate, False)

    def _option(self, rate: Estimate, measured: bool) -> Option:
        usd = None if self.price is None else self.price.usd_per_gpu_hour
        return Option(self.gpu, rate, usd, measured)

    @property
    def reason(self) -> str:
        """Return why there are no figures; empty where there are."""
        if self.found.state == NO_FIT:
            where = f"{self.gpus} x {gpu_label(self.gpu)} ({self.layout})"
            return f"does not fit on {where}: {reason(self.fit.memory)}"
        return "" if self.answered else f"{self.found.state}: {self.found.reason}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know, each once."""
        return tuple(dict.fromkeys((*self.found.notes, *self.fit.warnings)))

    @property
    def sentence(self) -> str:
        """Return the answer for this accelerator in words."""
        if not self.answered:
            return f"{gpu_label(self.gpu)} {self.reason}."
        rate = self.figures["output_tps_total"]
        return (
            f"{gpu_label(self.gpu)}: {rate.value:,.0f} output tok/s on {self.gpus} GPUs ({self.layout}), "
            f"{self.found.source}; {self.found.chosen}."
        )


@dataclass(frozen=True, slots=True, repr=False)
class CompareReport(Answers[CompareAnswer]):
    """Accelerators side by side for one model and load.

    Parameters
    ----------
    answers : tuple of CompareAnswer
        The best first, those without figures last.
    ranking : Ranking
        The order of those with figures.
    simulated_ranking : Ranking or None
        The order on the figures of the model alone, where some of the answers were measured.
    kinds : tuple of KindRanking
        The order under every kind of price that all have.
    lacking : dict of str to tuple of str
        Of other kinds the accelerators that have no such price.
    slo : LatencySlo or None
        Limits that the medians of the compared points keep.
    throughput : str
        Where figures were to come from.
    notes : tuple of str
        What the user should know of the comparison.
    left_out : mapping of str to str
        Accelerators that cannot run what was asked, with the reason.
    hosted : tuple of HostedAnswer
        Hosted APIs of the same model, which have no place in the order.
    currency : Currency
        In which money is shown; numbers of JSON and CSV are in USD.
    """

    ranking: Ranking
    simulated_ranking: Ranking | None
    kinds: tuple[KindRanking, ...]
    lacking: dict[str, tuple[str, ...]]
    slo: LatencySlo | None
    throughput: str
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    hosted: tuple[HostedAnswer, ...] = ()
    currency: Currency = DOLLAR

    @property
    def about(self) -> str:
        """Return what is compared."""
        return about_text(self)

    @property
    def title(self) -> str:
        """Return what the report is about."""
        return f"Comparison: {self.about}"

    @property
    def answered(self) -> bool:
        """Return whether at least one accelerator has figures."""
        return any(answer.answered for answer in self.answers)

    @property
    def fits(self) -> bool:
        """Return whether the model fits on at least one."""
        return any(answer.found.state != NO_FIT for answer in self.answers)

    @property
    def misses(self) -> bool:
        """Return whether none answers, and at least one only because of the SLO."""
        return not self.answered and any(answer.found.state == MISSES for answer in self.answers)

    @property
    def sentence(self) -> str:
        """Return the order, who is first, and how sure that is."""
        return report_sentence(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what to know of the comparison, and then of each accelerator."""
        return tuple(dict.fromkeys((*self.notes, *super(CompareReport, self).warnings)))

    def __str__(self) -> str:
        """Return the answer in words, a line for each pair."""
        lines = [pair_sentence(pair, self.ranking.priced) for pair in self.ranking.told_pairs]
        return "\n".join([self.sentence, *lines[1:]])

    def tables(self) -> tuple[Table, ...]:
        """Return figures, money, pairs, price kinds and the model's own order."""
        return compare_tables(self)

    def sources(self) -> Table:
        """Return the runs that were measured, and the quotes."""
        return compare_sources(self)

    def figures(self) -> tuple[NamedFigure, ...]:
        """Return what each yields for its money, and the order under each kind of price."""
        from planner.report.figures.compare import kinds_figure, merit_figure

        unit = "tok/s per USD/h" if self.ranking.priced else "tok/s a GPU"
        drawn = [NamedFigure("merit", f"Output, {unit}, with 80 % intervals", lambda: merit_figure(self))]
        if self.kinds:
            drawn.append(
                NamedFigure("price-kinds", "tok/s per USD/h by kind of price", lambda: kinds_figure(self))
            )
        return tuple(drawn) if self.answered else ()

    def to_dict(self) -> dict[str, Any]:
        """Return one JSON-ready object of schema `planner.compare/1`."""
        return self.signed(compare_record(self))

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record for each accelerator, units in the keys."""
        return [flat_record(answer) for answer in self.answers]

    def _repr_html_(self) -> str:
        import html

        head = f"<p><strong>{html.escape(self.sentence)}</strong></p>"
        return head + "".join(table.to_html() for table in self.tables())


def in_order(answers: list[CompareAnswer]) -> tuple[tuple[CompareAnswer, ...], Ranking, Ranking | None]:
    """Return answers with their ranks, the best first, and the order by what was measured and by the model.

    Parameters
    ----------
    answers : list of CompareAnswer
        In the order in which they were asked about.

    Returns
    -------
    tuple
        Answers; their ranking; that of the model's figures where some are measured and all have such.
    """
    ranking = rank([option for answer in answers if (option := answer.option)])
    placed = {name: place for place, name in enumerate(ranking.names)}
    ordered = sorted(answers, key=lambda answer: placed.get(answer.gpu, len(placed)))
    ranked = tuple(replace(answer, rank=ranking.ranks.get(answer.gpu)) for answer in ordered)
    shown = [answer for answer in ranked if answer.answered]
    models = [option for answer in shown if (option := answer.simulated_option)]
    differs = any(answer.found.source == "measured" for answer in shown)
    by_model = rank(models) if differs and len(models) == len(shown) else None
    return ranked, ranking, by_model
