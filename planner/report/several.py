"""What reports on one or several accelerator types share: their answers in order, by position or by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from planner.report.base import Report
from planner.report.sentences import gpu_label
from planner.report.table import frame_of, records_to_csv

if TYPE_CHECKING:
    import pandas


def left_out_notes(left_out: Mapping[str, str]) -> tuple[str, ...]:
    """Return why accelerators that were named have no answer."""
    return tuple(f"{gpu_label(gpu)} is left out: {reason}" for gpu, reason in left_out.items())


def left_out_html(left_out: Mapping[str, str]) -> str:
    """Return the same as HTML."""
    import html

    return "".join(f"<p>{html.escape(note)}</p>" for note in left_out_notes(left_out))


class Answer(Protocol):
    """The answer for one accelerator type."""

    @property
    def gpu(self) -> str:
        """Return the id of the accelerator."""
        ...

    @property
    def sentence(self) -> str:
        """Return the answer in words."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know."""
        ...


class Recorded(Answer, Protocol):
    """An answer that is an object of its own where it is the only one."""

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as one JSON-ready object."""
        ...


A = TypeVar("A", bound=Answer)
R = TypeVar("R", bound=Recorded)


@dataclass(frozen=True, slots=True, repr=False)
class Answers(Report, Generic[A]):
    """The answers for one model on one or several accelerator types.

    Parameters
    ----------
    answers : tuple of Answer
        In the order in which the accelerators were named.
    """

    answers: tuple[A, ...]

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat record for each accelerator, units in the keys."""
        raise NotImplementedError

    def to_csv(self) -> str:
        """Return one line for each accelerator under a header."""
        records = self.to_records()
        return records_to_csv(records, list(records[0]))

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas frame with one row for each accelerator."""
        return frame_of(self.to_records())

    def __iter__(self) -> Iterator[A]:
        """Iterate over the answers."""
        return iter(self.answers)

    def __len__(self) -> int:
        """Return the number of accelerator types."""
        return len(self.answers)

    def __getitem__(self, key: int | str) -> A:
        """Return an answer by position, or by the id of its accelerator."""
        if isinstance(key, int):
            return self.answers[key]
        by_id = {answer.gpu: answer for answer in self.answers}
        if key not in by_id:
            raise KeyError(f"{key!r}; there are {', '.join(by_id)}")
        return by_id[key]

    @property
    def answer(self) -> A:
        """Return the only answer, or the first of several."""
        return self.answers[0]

    @property
    def sentence(self) -> str:
        """Return the answers in words, one after the other."""
        return " ".join(answer.sentence for answer in self.answers)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know, each once; what is not so of all names its accelerator."""
        shared = set.intersection(*(set(answer.warnings) for answer in self.answers))
        said = (
            warning if warning in shared else f"{gpu_label(answer.gpu)}: {warning}"
            for answer in self.answers
            for warning in answer.warnings
        )
        return tuple(dict.fromkeys(said))

    def __repr__(self) -> str:
        """Return the answers in words."""
        return f"<{type(self).__name__}: {self.sentence}>"

    def __str__(self) -> str:
        """Return the answers in words, one line for each accelerator."""
        return "\n".join(answer.sentence for answer in self.answers)


@dataclass(frozen=True, slots=True, repr=False)
class NamedAnswers(Answers[R]):
    """The answers for accelerators that were named, without those that cannot run what was asked.

    Parameters
    ----------
    left_out : mapping of str to str
        Accelerators that cannot run it, and why.
    """

    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return everything the user should know, and first which accelerators are left out and why."""
        return (*left_out_notes(self.left_out), *super(NamedAnswers, self).warnings)

    def one_or_several(self, schema: str, model: str, fits: bool) -> dict[str, Any]:
        """Return one JSON-ready object: a single answer itself, several under `results`."""
        if len(self.answers) == 1 and not self.left_out:
            return self.signed(self.answer.to_dict())
        results = [answer.to_dict() for answer in self.answers]
        return self.signed(
            {"schema": schema, "model": model, "fits": fits, "results": results}
            | {"left_out": dict(self.left_out)}
        )
