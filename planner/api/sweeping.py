"""Ask about many models, accelerators, settings, loads and prices at once, resumably and on many machines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from planner.api.arguments import open_catalogue, path_text
from planner.api.recording import is_usual, reproducible
from planner.catalogue import Catalogue, Gpu, Model
from planner.errors import InvalidInput, shorten
from planner.planning.question import check_fields, gpu_records, prices_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from planner.planning.sweeping import PriceTerm, SweepQuestion
    from planner.report.sweep import SweepReport

Several = Iterable[Any] | str | int | float | None


@reproducible
def sweep(
    *,
    model: str | os.PathLike[str] | Model | Iterable[str | Model],
    gpu: str | Gpu | Iterable[str | Gpu],
    isl: Several,
    osl: Several,
    concurrency: Several = None,
    request_rate: Several = None,
    prefix_hit: Several = 0.0,
    engine: Several = "vllm",
    weight_dtype: Several = None,
    kv_dtype: Several = "auto",
    gpus: Several = None,
    tp: Several = None,
    pp: Several = None,
    ep: Several = None,
    dp: Several = None,
    dcp: Several = None,
    draft: str | None = None,
    tokens_per_step: float | None = None,
    network_bytes_per_s: float | None = None,
    price: float | Mapping[str, float | Iterable[float]] | Iterable[float] | None = None,
    price_kind: str | Iterable[str] | None = None,
    utilisation: float | None = None,
    availability: float | None = None,
    out: str | os.PathLike[str] | None = None,
    restart: bool = False,
    executor: Executor | None = None,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    catalogue: Catalogue | str | os.PathLike[str] | None = None,
    **options: Any,
) -> SweepReport:
    """Predict every combination of models, accelerators, settings, loads and prices: one row for each.

    Parameters
    ----------
    model, gpu : str, record, or several
        As for `fit`; several with commas or as a list.
    isl, osl, concurrency : int, str or several
        Loads, all combinations: ``4096``, ``"1k,2k,4k"``, ``"1..256"`` (doubling), or a list; one request at
        once where neither a concurrency nor a rate is given.
    request_rate : float, str or several
        Requests that arrive in a second, instead of a concurrency [1/s]. Above what a deployment carries the
        state of a row is ``overload``.
    prefix_hit, engine, weight_dtype, kv_dtype, gpus, tp, pp, ep, dp, dcp : one or several
        Settings, all combinations. Without sizes each deployment is the smallest that holds the longest
        request of the sweep.
    draft, tokens_per_step, network_bytes_per_s
        As for `predict`.
    price : float, mapping, or several
        USD per GPU-hour, for all accelerators or by id; several give a row each.
    price_kind : str or several
        Kinds of prices of the catalogue, a row each, for accelerators without a given price.
    utilisation, availability : float, optional
        As for `compare`.
    out : path, optional
        A file that ends in ``.csv`` or ``.parquet``. What is done stands beside it, and is gone on with after
        an interruption. Without it the rows are kept in memory.
    restart : bool
        Throw away what stands beside `out`.
    executor : concurrent.futures.Executor, optional
        What the work is spread over: processes, a Dask client's `get_executor()`, `MPIPoolExecutor`, ... Its
        workers need planner and the catalogue files at the same paths; the executor is not shut down.
    processes : int, optional
        Processes of this machine, instead of an executor.
    progress : callable, optional
        Called with the rows that are done, and all of them.
    catalogue, **options
        As for `predict`.

    Returns
    -------
    SweepReport
        Rows that have no answer say why; none is left out.

    Raises
    ------
    PlannerError
        With one line that says what is wrong and what would be right.
    """
    from planner.api.sweep_running import spread, swept
    from planner.planning.sweeping import counts, values

    book = open_catalogue(catalogue)
    sizes = {"gpus": gpus, "tp": tp, "pp": pp, "ep": ep, "dp": dp, "dcp": dcp}
    named = {"engine": engine, "weight_dtype": weight_dtype, "kv_dtype": kv_dtype}
    settings = {name: _axis(name, given) for name, given in named.items()}
    settings |= {name: (None,) if given is None else counts(name, given) for name, given in sizes.items()}
    settings["prefix_hit"] = tuple(_hit(one) for one in _axis("prefix_hit", prefix_hit))
    asked = _question(
        book,
        models=_models(model, book),
        gpus=gpu_records(gpu, book),
        settings=settings,
        loads=_loads(isl, osl, concurrency, request_rate),
        price=price,
        kinds=() if price_kind is None else values(price_kind),
        options=options,
        more={"draft": draft, "tokens_per_step": tokens_per_step, "network_bytes_per_s": network_bytes_per_s},
        use=(utilisation, availability),
    )
    with spread(executor, processes) as workers:
        return swept(asked, book, None if out is None else path_text("out", out), restart, workers, progress)


def _loads(
    isl: Several, osl: Several, concurrency: Several, request_rate: Several
) -> dict[str, tuple[int, ...] | tuple[float, ...]]:
    from planner.planning.sweeping import CONCURRENCY, RATE, counts, rates

    for name, given in (("isl", isl), ("osl", osl)):
        if given is None:
            raise InvalidInput(f"{name}: no value; write it like 1k,2k,4k or 1..256")
    loads: dict[str, tuple[int, ...] | tuple[float, ...]] = {
        "isl": counts("isl", isl),
        "osl": counts("osl", osl),
    }
    if request_rate is None:
        return loads | {CONCURRENCY: counts(CONCURRENCY, 1 if concurrency is None else concurrency)}
    if concurrency is not None:
        raise InvalidInput("concurrency and rate exclude each other: one follows from the other")
    return loads | {RATE: rates("rate", request_rate)}


def _models(given: Any, book: Catalogue) -> tuple[str | Model, ...]:
    """Return the models, each known to the catalogue or to be found elsewhere."""
    from planner.planning.question import chosen_model
    from planner.planning.sweeping import values

    alone = isinstance(given, str | os.PathLike | Model)
    if not alone and not isinstance(given, Iterable):
        raise InvalidInput(
            f"model: {shorten(given)} is no name; an id, alias, path or a list of them is needed"
        )
    models: list[str | Model] = []
    for one in [given] if alone else list(given):
        for name in values(one) if isinstance(one, str) else [one]:
            if not isinstance(name, Model):
                chosen_model(path_text("model", name), book)
                name = os.fspath(name)
            models.append(name)
    if not models:
        raise InvalidInput("model: no model named")
    return tuple(models)


def _axis(name: str, given: Several) -> tuple[Any, ...]:
    from planner.planning.sweeping import values

    found = values(given)
    if not found:
        raise InvalidInput(f"{name}: no value, and so no row; leave it out, or name one or several")
    return found


def _hit(given: Any) -> float:
    try:
        share = float(given)
    except (TypeError, ValueError, OverflowError):
        share = -1.0
    if isinstance(given, bool) or not 0 <= share < 1:
        raise InvalidInput(
            f"prefix_hit: {shorten(given)} is out of range; a share from 0 to below 1 is needed"
        )
    return share


def _question(
    book: Catalogue,
    *,
    models: tuple[str | Model, ...],
    gpus: list[Gpu],
    settings: dict[str, tuple[Any, ...]],
    loads: dict[str, tuple[int, ...] | tuple[float, ...]],
    price: Any,
    kinds: tuple[str, ...],
    options: dict[str, Any],
    more: dict[str, Any],
    use: tuple[float | None, float | None],
) -> SweepQuestion:
    from planner.economics import planned_use
    from planner.planning.sweeping import MOST_ROWS, SETTINGS, SweepQuestion

    check_fields(options)
    asked = SweepQuestion(
        models=models,
        gpus=tuple(gpu.id for gpu in gpus),
        settings={name: settings[name] for name in SETTINGS},
        loads=loads,
        prices=_prices(book, gpus, price, kinds),
        options={name: value for name, value in options.items() if not is_usual(name, value)},
        **more,
        use=planned_use(book, *use),
        directory=str(book.directory),
        own=tuple(str(document.path) for document in book.own),
        catalogue_digest=book.digest,
    )
    if asked.rows > MOST_ROWS:
        raise InvalidInput(f"{asked.rows:,} rows are more than a sweep can end with; at most {MOST_ROWS:,}")
    for gpu in gpus:
        if book.gpu(gpu.id) != gpu:
            raise InvalidInput(
                f"gpu: a record of {gpu.id} that is not the catalogue's; put it into a catalogue file"
            )
    return asked


def _prices(
    book: Catalogue, gpus: list[Gpu], price: Any, kinds: tuple[str, ...]
) -> dict[str, tuple[PriceTerm, ...]]:
    """Return the prices of each accelerator: those given, else one of each kind, else why there is none."""
    from planner.planning.sweeping import PriceTerm

    by_name = price if isinstance(price, Mapping) else {} if price is None else {g.id: price for g in gpus}
    terms: dict[str, list[PriceTerm]] = {gpu.id: [] for gpu in gpus}
    for name, usd in by_name.items():
        for one in usd if isinstance(usd, list | tuple) else [usd]:
            found = prices_of(gpus, {name: one}, None, book)[0]
            terms[next(iter(found))] += [_term(each) for each in found.values()]
    for kind, gpu in product(kinds, gpus):
        if kind is None:
            raise InvalidInput("price_kind: None is no name of a kind, such as on-demand")
        if gpu.id not in {book.gpu(name).id for name in by_name}:
            found, missing = prices_of([gpu], None, kind, book)
            priced = [_term(each) for each in found.values()]
            terms[gpu.id] += priced or [PriceTerm(None, kind, missing[gpu.id])]
    none = {gpu: PriceTerm(reason=f"no price of {gpu} was given" if by_name else "") for gpu in terms}
    return {gpu: tuple(found) or (none[gpu],) for gpu, found in terms.items()}


def _term(price: Any) -> PriceTerm:
    from planner.planning.sweeping import PriceTerm

    return PriceTerm(price.usd_per_gpu_hour, price.kind, "", price.provenance)
