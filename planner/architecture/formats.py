"""Number formats of stored weights and cache entries, with the bytes that their scales add.

A weight matrix of `rows` output and `cols` input features takes ``rows * cols * bits / 8`` bytes plus one
scale for each block of the format. Layouts are those of the published checkpoints: OCP Microscaling
specification 1.0 (MXFP4, MXFP8), NVIDIA ModelOpt (NVFP4), DeepSeek-V3 (FP8 in 128 x 128 blocks),
compressed-tensors (per channel) and AutoAWQ/GPTQ (INT4 groups with zero points).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.errors import Unsupported, nearest_names


@dataclass(frozen=True, slots=True)
class Format:
    """A storage format of weights.

    Parameters
    ----------
    name : str
        The name used in catalogues and options.
    bits : int
        Bits of one stored element.
    block_rows, block_cols : int
        Output and input features that share one scale; 0 means the whole dimension.
    scale_bits : int
        Bits of what is stored for each block (scale, and zero point where there is one).
    tensor_bytes : int
        Bytes stored once for each matrix, such as the FP32 scales of weight and input of NVFP4.
    compute : str
        The dtype in which matrix units run this format where they have it.
    """

    name: str
    bits: float
    block_rows: int = 0
    block_cols: int = 0
    scale_bits: int = 0
    tensor_bytes: int = 0
    compute: str = "bf16"

    def matrix_bytes(self, rows: int, cols: int) -> int:
        """Return the bytes of one matrix with its scales.

        Parameters
        ----------
        rows, cols : int
            Output and input features.

        Returns
        -------
        int
            Bytes, scales included and rounded up to whole bytes.
        """
        element_bits = rows * cols * self.bits
        if not self.scale_bits:
            return -int(-element_bits // 8) + self.tensor_bytes
        down = -(-rows // (self.block_rows or rows))
        across = -(-cols // (self.block_cols or cols))
        return -int(-(element_bits + down * across * self.scale_bits) // 8) + self.tensor_bytes

    @property
    def bits_per_weight(self) -> float:
        """Return the bits of a weight in a large matrix, block scales included."""
        if not (self.scale_bits and self.block_rows and self.block_cols):
            return self.bits
        return self.bits + self.scale_bits / (self.block_rows * self.block_cols)


def _formats(*formats: Format) -> dict[str, Format]:
    return {item.name: item for item in formats}


FORMATS = _formats(
    Format("f32", 32, compute="fp32"),
    Format("bf16", 16),
    Format("f16", 16, compute="fp16"),
    # FP8: one FP32 scale per 128 x 128 block (DeepSeek-V3), or a one-byte power of two (DeepSeek-V4).
    Format("fp8-block128", 8, 128, 128, 32, compute="fp8"),
    Format("fp8-block128-e8m0", 8, 128, 128, 8, compute="fp8"),
    Format("fp8-block32-e8m0", 8, 32, 32, 8, compute="fp8"),
    Format("fp8-channel", 8, 1, 0, 16, compute="fp8"),
    Format("fp8-tensor", 8, tensor_bytes=8, compute="fp8"),
    Format("mxfp8", 8, 1, 32, 8, compute="fp8"),
    Format("int8-channel", 8, 1, 0, 16, compute="int8"),
    Format("mxfp4", 4, 1, 32, 8, compute="fp4"),
    Format("nvfp4", 4, 1, 16, 8, tensor_bytes=8, compute="fp4"),
    # compressed-tensors also stores the shape of each packed matrix, as two 32-bit integers.
    Format("int4-g32", 4, 1, 32, 16, tensor_bytes=8),
    Format("int4-g128", 4, 1, 128, 16),
    # A scale of 16 bits and a zero point of 4 for each group.
    Format("int4-awq-g128", 4, 1, 128, 20),
)


_AVERAGE = re.compile(r"(\d{1,2}(?:\.\d{1,4})?)bpw")


def weight_format(name: str) -> Format:
    """Return the weight format of this name.

    Parameters
    ----------
    name : str
        A key of `FORMATS`, or an average such as ``4.89bpw`` (bits per weight of a GGUF or EXL file).

    Returns
    -------
    Format

    Raises
    ------
    Unsupported
        When there is no such format; the message names the nearest.
    """
    average = _AVERAGE.fullmatch(name)
    if average:
        return Format(name, float(average[1]))
    try:
        return FORMATS[name]
    except KeyError:
        near = nearest_names(name, FORMATS) or sorted(FORMATS)
        raise Unsupported(f"unknown weight format {name!r}; one of: {', '.join(near)}") from None


# Bytes of one cached element, block scales included (llama.cpp q8_0: 34 bytes per 32; FP4: 9 per 16).
CACHE_BYTES = {
    "f32": 4.0,
    "bf16": 2.0,
    "f16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "q8_0": 34 / 32,
    "q4_0": 18 / 32,
    "nvfp4": 9 / 16,
}
