"""The load of a question, and the deployment that is meant for it."""

from __future__ import annotations

from dataclasses import dataclass

from planner.catalogue import Gpu
from planner.errors import InvalidInput
from planner.memory import MemoryFit
from planner.planning.question import Question
from planner.planning.sizing import Judgement, judge
from planner.scenario import Deployment, Workload


@dataclass(frozen=True, slots=True)
class Load:
    """The load that was asked for, as it was asked for.

    Parameters
    ----------
    isl, osl : int
        Input and output of a request [tokens].
    concurrency : int or None
        Requests at once.
    request_rate_per_s : float or None
        Requests that arrive in a second, instead of a concurrency.
    prefix_hit : float
        Share of the input that a prefix cache holds.
    """

    isl: int
    osl: int
    concurrency: int | None
    request_rate_per_s: float | None
    prefix_hit: float = 0.0


def load_of(workload: Workload) -> Load:
    """Return a load in short; one with lengths, as `full_load` returns it."""
    assert workload.isl is not None
    assert workload.osl is not None
    return Load(workload.isl, workload.osl, workload.concurrency, workload.request_rate, workload.prefix_hit)


def full_load(workload: Workload) -> tuple[Workload, tuple[str, ...]]:
    """Return the load, one request at a time where none was given, and what is to be said of it.

    Parameters
    ----------
    workload : Workload
        As the user gave it.

    Returns
    -------
    tuple of Workload and tuple of str

    Raises
    ------
    InvalidInput
        When lengths are missing, or a concurrency and a rate contradict one another.
    """
    if workload.isl is None or workload.osl is None:
        missing = "isl and osl" if workload.isl is workload.osl else "isl" if workload.isl is None else "osl"
        raise InvalidInput(
            f"{missing}: give input and output tokens of a request, such as --isl 1024 --osl 400"
        )
    if workload.concurrency is not None and workload.request_rate is not None:
        raise InvalidInput("concurrency and rate exclude each other: one follows from the other")
    if workload.concurrency is None and workload.request_rate is None:
        said = "no load was given, so one request at a time is assumed; --concurrency or --rate state one"
        return workload.model_copy(update={"concurrency": 1}), (said,)
    return workload, ()


def check_drafts(drafted: int, draft: str | None, tokens_per_step: float | None) -> None:
    """Refuse what is said of drafts where nothing is drafted, and more tokens a step than there are.

    Parameters
    ----------
    drafted : int
        Tokens drafted for each step.
    draft : str, optional
        Kind of draft.
    tokens_per_step : float, optional
        Tokens that a step yields.

    Raises
    ------
    InvalidInput
        With what would be possible.
    """
    if not drafted and (draft is not None or tokens_per_step is not None):
        raise InvalidInput("drafts are described, but nothing is drafted; speculative tokens are 1 or more")
    if tokens_per_step is not None and not 1 <= tokens_per_step <= 1 + drafted:
        raise InvalidInput(
            f"tokens per step: {tokens_per_step:g} is not possible with {drafted} drafted; "
            f"1 to {1 + drafted}, the target's own included"
        )


def judged(
    asked: Question, gpu: Gpu, load: Workload, *, sized_for_load: bool = True
) -> tuple[Judgement, tuple[str, ...]]:
    """Return the memory of the deployment that is meant, and what was chosen.

    Parameters
    ----------
    asked : Question
        The question.
    gpu : Gpu
        The accelerator.
    load : Workload
        The load.
    sized_for_load : bool
        Whether the deployment is to hold all requests at once where no sizes were given.

    Returns
    -------
    tuple of Judgement and tuple of str
        Sizes that were given need to hold one request: more of them wait for a place. Without sizes it is the
        smallest deployment that holds the load, or else the smallest that holds one request.
    """
    lengths = Workload(context=load.context, isl=load.isl, osl=load.osl)

    def found(workload: Workload) -> Judgement:
        return judge(
            model=asked.model,
            gpu=gpu,
            base=asked.base,
            sizes=asked.sizes,
            workload=workload,
            catalogue=asked.catalogue,
        )

    if asked.sizes.given:
        return found(lengths), ()
    most = load.concurrency if sized_for_load else None
    if most is not None and asked.base.max_num_seqs is None:
        best = found(lengths.model_copy(update={"concurrency": most}))
        if best.memory.fits:
            held = "one request" if most == 1 else f"{most:,} requests at once"
            return best, (f"no sizes were given: the smallest deployment that holds {held} is taken",)
    return found(lengths), ("no sizes were given: the smallest deployment that holds a request is taken",)


def deployment_of(base: Deployment, memory: MemoryFit) -> Deployment:
    """Return the deployment as asked, with the sizes that were judged."""
    sizes = {name: getattr(memory.deployment, name) for name in ("tp", "pp", "ep", "dp", "dcp")}
    return base.model_copy(update=sizes)
