"""Names of the arguments that only media models take, apart from what they mean, which is imported late."""

from __future__ import annotations

SIZES = ("size", "frames", "latents", "octree")
MEDIA_OPTIONS = (*SIZES, "steps", "guidance", "offload")
"""Arguments of the front door that only media models take."""
