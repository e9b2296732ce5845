"""DeepSeek-OCR: SAM's image encoder, a second encoder on its output, and a small DeepSeek-V2 without MLA.

Configurations do not state the towers' widths, which the model's code fixes: SAM-base with two more
convolutions before CLIP-L (DeepSeek-OCR) or before a decoder as large as Qwen2-0.5B with learnt queries
(DeepSeek-OCR-2; Hugging Face class DeepseekOcr2VisionModel).
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.blocks.gqa import GroupedQueryAttention
from planner.architecture.blocks.mlp import DenseMlp
from planner.architecture.blocks.tower import Tower
from planner.architecture.config import Config
from planner.architecture.families import build_model
from planner.architecture.families.vision import encoder_layers, linear, table
from planner.architecture.model import Architecture, Block, norm

Parts = list[tuple[Block, int]]

# SAM-base: 1024 x 1024 pixels in patches of 16; 8 of 12 layers see windows of 14 x 14 patches.
SAM_HIDDEN, SAM_HEADS, SAM_LAYERS, SAM_GLOBAL_LAYERS = 768, 12, 12, 4
SAM_PATCH, SAM_GRID, SAM_WINDOW, SAM_OUT, SAM_DOWN = 16, 64, 14, 256, 512
# CLIP-L: 224 x 224 pixels in patches of 14.
CLIP_HIDDEN, CLIP_HEADS, CLIP_LAYERS, CLIP_PATCH, CLIP_GRID = 1024, 16, 24, 14, 16
# Qwen2-0.5B without its tables, and a query for each place of a 12 x 12 and a 16 x 16 grid.
QWEN_HIDDEN, QWEN_HEADS, QWEN_KV_HEADS, QWEN_INTERMEDIATE, QWEN_LAYERS = 896, 14, 2, 4864, 24
QUERIES = 12**2 + 16**2
CHANNELS = 3


def build(config: Config) -> Architecture:
    """Build DeepSeek-OCR or DeepSeek-OCR-2.

    Parameters
    ----------
    config : Config
        Its configuration.

    Returns
    -------
    Architecture
    """
    text = config.part("language_config", "text_config").with_defaults({"model_type": "deepseek_v2"})
    model = build_model(text)
    second = config.items("architectures", str)[0] == "DeepseekOCR2ForCausalLM"
    parts = _with_decoder(model.hidden_size) if second else _with_clip(model.hidden_size)
    # Small enough that engines run it whole on every rank.
    return replace(model, towers=(Tower(tuple(parts)),))


def _with_clip(out: int) -> Parts:
    return [
        *_sam(CLIP_HIDDEN),
        (table("clip.class_embedding", 1, CLIP_HIDDEN), 1),
        (table("clip.patch_embedding", CLIP_HIDDEN, CHANNELS * CLIP_PATCH**2), 1),
        (table("clip.position_embedding", CLIP_GRID**2 + 1, CLIP_HIDDEN), 1),
        (norm(*[CLIP_HIDDEN] * 2), 1),
        *encoder_layers(CLIP_HIDDEN, CLIP_HEADS, 4 * CLIP_HIDDEN, CLIP_LAYERS),
        # What CLIP and SAM make of a place stand side by side; rows and pages end with a learnt vector.
        (linear("projector", out, 2 * CLIP_HIDDEN), 1),
        (table("separators", 2, out), 1),
    ]


def _with_decoder(out: int) -> Parts:
    width = QWEN_HIDDEN // QWEN_HEADS
    mixer = GroupedQueryAttention(QWEN_HIDDEN, QWEN_HEADS, QWEN_KV_HEADS, width, width, qkv_bias=True)
    return [
        *_sam(QWEN_HIDDEN),
        (table("queries", QUERIES, QWEN_HIDDEN), 1),
        (mixer, QWEN_LAYERS),
        (DenseMlp(QWEN_HIDDEN, QWEN_INTERMEDIATE), QWEN_LAYERS),
        (norm(QWEN_HIDDEN, QWEN_HIDDEN), QWEN_LAYERS),
        (norm(QWEN_HIDDEN), 1),
        (linear("projector", out, QWEN_HIDDEN), 1),
        (table("separators", 1, out), 1),
    ]


def _sam(out: int) -> Parts:
    """Return SAM's encoder with its neck, and two convolutions that halve the grid."""
    head = SAM_HIDDEN // SAM_HEADS
    return [
        (table("sam.patch_embed", SAM_HIDDEN, CHANNELS * SAM_PATCH**2), 1),
        (table("sam.patch_embed.bias", SAM_HIDDEN), 1),
        (table("sam.pos_embed", SAM_GRID**2, SAM_HIDDEN), 1),
        *encoder_layers(SAM_HIDDEN, SAM_HEADS, 4 * SAM_HIDDEN, SAM_LAYERS),
        # Relative positions along both axes, for the patches of a window or of the whole image.
        (table("sam.rel_pos", 2 * (2 * SAM_WINDOW - 1), head), SAM_LAYERS - SAM_GLOBAL_LAYERS),
        (table("sam.rel_pos", 2 * (2 * SAM_GRID - 1), head), SAM_GLOBAL_LAYERS),
        (table("sam.neck.conv1", SAM_OUT, SAM_HIDDEN), 1),
        (table("sam.neck.conv2", SAM_OUT, SAM_OUT * 3**2), 1),
        (norm(*[SAM_OUT] * 4), 1),
        (table("sam.net_2", SAM_DOWN, SAM_OUT * 3**2), 1),
        (table("sam.net_3", out, SAM_DOWN * 3**2), 1),
    ]
