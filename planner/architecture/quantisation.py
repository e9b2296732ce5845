"""Which format each weight of a checkpoint is stored in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.architecture.formats import FORMATS, Format, weight_format
from planner.architecture.tensors import Tensor


@dataclass(frozen=True, slots=True)
class WeightScheme:
    """The formats of a checkpoint's weights.

    Parameters
    ----------
    name : str
        The name shown to users, such as ``fp8-block128``.
    default : str
        Format of everything that no rule names.
    by_group : mapping of str to str
        Format by weight group, for the matrices of that group. A key ``group/name`` names one tensor of it.
    smallest : int
        Matrices with a side under this stay in the default format.
    """

    name: str
    default: str
    by_group: Mapping[str, str]
    smallest: int = 0

    def format_of(self, tensor: Tensor) -> Format:
        """Return the format that a tensor is stored in.

        Parameters
        ----------
        tensor : Tensor
            A tensor of the architecture.

        Returns
        -------
        Format

        Raises
        ------
        Unsupported
            When the scheme names a format that does not exist.
        """
        if tensor.fixed_format is not None:
            return FORMATS[tensor.fixed_format]
        rule = self.by_group.get(f"{tensor.group}/{tensor.name}", self.by_group.get(tensor.group))
        if rule is None:
            return weight_format(self.default)
        if not tensor.is_matrix or min(tensor.rows, tensor.cols) < self.smallest:
            return weight_format(self.default)
        return weight_format(rule)
