"""Time blocks of media models on the GPU of this machine: eager PyTorch, BF16, random weights.

    python benchmarks/media_blocks.py > blocks.csv

It prints the rows of measurements/kernels/own_h200_media.csv: attention by backend, matrix products, blocks
of the transformers of FLUX.1, Wan2.2 and Hunyuan3D 2.1, decoders, and one round of Hunyuan3D's points. It
needs torch, a GPU with 40 GB, and a minute.
"""

from __future__ import annotations

import csv
import sys

import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

DEVICE, BF16 = "cuda", torch.bfloat16
COLUMNS = ("block", "case", "ms", "tflop_per_s", "peak_gib")
ATTENTION = {
    "flux-2560": (1, 24, 26_112, 26_112, 128),
    "flux-1024": (1, 24, 4608, 4608, 128),
    "wan-640": (1, 40, 33_600, 33_600, 128),
    "wan-1280": (1, 40, 134_400, 134_400, 128),
    "wan-cross": (1, 40, 134_400, 512, 128),
    "hunyuan": (2, 16, 4097, 4097, 128),
    "hunyuan-cross": (2, 16, 4097, 1370, 128),
    "volume": (1, 16, 8000, 4096, 64),
}
"""Batch, heads, queries, keys and width of a head."""
GEMM = (
    (26_112, 3072, 9216),
    (26_112, 3072, 12_288),
    (26_112, 15_360, 3072),
    (134_400, 5120, 5120),
    (134_400, 5120, 13_824),
    (134_400, 13_824, 5120),
    (4608, 3072, 12_288),
    (8194, 2048, 8192),
)
"""Tokens, inputs and outputs."""
writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")


def random(*shape, dtype=BF16):
    return torch.randn(*shape, device=DEVICE, dtype=dtype)


def linear(inputs, outputs, bias=True):
    return nn.Linear(inputs, outputs, bias=bias, device=DEVICE, dtype=BF16)


def time_it(block, case, run, flop=None, repeats=5):
    """Print the median time of some runs after two that warm up, and what they held beside their input."""
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    found = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        torch.cuda.synchronize()
        found.append(start.elapsed_time(end))
    ms = sorted(found)[repeats // 2]
    row = {"block": block, "case": case, "ms": f"{ms:.4f}"}
    if flop is None:
        row["peak_gib"] = f"{(torch.cuda.max_memory_allocated() - held) / 2**30:.3f}"
    else:
        row["tflop_per_s"] = f"{flop / ms / 1e9:.1f}"
    writer.writerow(row)
    sys.stdout.flush()


def attend(q, k, v):
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
        return functional.scaled_dot_product_attention(q, k, v)


def by_head(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).flatten(2)


def rms(x, gain):
    return functional.rms_norm(x, (x.shape[-1],), gain, 1e-6)


def norm(x):
    return functional.layer_norm(x, (x.shape[-1],))


def rotate(x, cos, sin):
    pairs = x.float().reshape(*x.shape[:-1], -1, 2)
    a, b = pairs[..., 0], pairs[..., 1]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).type_as(x)


def angles(tokens):
    cos = torch.ones(1, 1, tokens, 64, device=DEVICE)
    return cos, torch.zeros_like(cos)


def gain(width):
    return nn.Parameter(torch.ones(width, device=DEVICE, dtype=BF16))


class FluxStream(nn.Module):
    def __init__(self, width=3072, heads=24):
        super().__init__()
        self.heads = heads
        self.modulation, self.qkv, self.out = (linear(width, n * width) for n in (6, 3, 1))
        self.up, self.down = linear(width, 4 * width), linear(4 * width, width)
        self.q_gain, self.k_gain = gain(width // heads), gain(width // heads)

    def heads_of(self, x, m):
        q, k, v = (by_head(y, self.heads) for y in self.qkv(norm(x) * (1 + m[1]) + m[0]).chunk(3, -1))
        return rms(q, self.q_gain), rms(k, self.k_gain), v

    def after(self, x, attended, m):
        x = x + m[2] * self.out(attended)
        inner = self.up(norm(x) * (1 + m[4]) + m[3])
        return x + m[5] * self.down(functional.gelu(inner, approximate="tanh"))


class FluxDouble(nn.Module):
    def __init__(self):
        super().__init__()
        self.picture, self.text = FluxStream(), FluxStream()

    def forward(self, picture, text, moment, cos, sin):
        streams = ((self.text, text), (self.picture, picture))
        modulations = [stream.modulation(functional.silu(moment)).chunk(6, -1) for stream, _ in streams]
        made = [stream.heads_of(x, m) for (stream, x), m in zip(streams, modulations, strict=True)]
        q, k, v = (torch.cat(pair, 2) for pair in zip(*made, strict=True))
        attended = joined(attend(rotate(q, cos, sin), rotate(k, cos, sin), v))
        cut = text.shape[1]
        parts = (attended[:, :cut], attended[:, cut:])
        return [
            stream.after(x, part, m) for (stream, x), part, m in zip(streams, parts, modulations, strict=True)
        ]


class FluxSingle(nn.Module):
    def __init__(self, width=3072, heads=24):
        super().__init__()
        self.width, self.heads = width, heads
        self.modulation, self.into, self.out = (
            linear(width, 3 * width),
            linear(width, 7 * width),
            linear(5 * width, width),
        )
        self.q_gain, self.k_gain = gain(width // heads), gain(width // heads)

    def forward(self, x, moment, cos, sin):
        m = self.modulation(functional.silu(moment)).chunk(3, -1)
        qkv, inner = self.into(norm(x) * (1 + m[1]) + m[0]).split((3 * self.width, 4 * self.width), -1)
        q, k, v = (by_head(y, self.heads) for y in qkv.chunk(3, -1))
        q, k = rotate(rms(q, self.q_gain), cos, sin), rotate(rms(k, self.k_gain), cos, sin)
        both = torch.cat((joined(attend(q, k, v)), functional.gelu(inner, approximate="tanh")), 2)
        return x + m[2] * self.out(both)


class WanBlock(nn.Module):
    def __init__(self, width=5120, inner=13_824, heads=40):
        super().__init__()
        self.heads = heads
        self.own, self.cross = (nn.ModuleList(linear(width, width) for _ in range(4)) for _ in range(2))
        self.up, self.down = linear(width, inner), linear(inner, width)
        self.gains = nn.ParameterList(gain(width) for _ in range(6))
        self.modulation = nn.Parameter(torch.zeros(1, 6, width, device=DEVICE, dtype=BF16))

    def forward(self, x, text, moment, cos, sin):
        m = (self.modulation + moment).chunk(6, 1)
        y = torch.addcmul(m[0], norm(x), 1 + m[1])
        q, k = (by_head(rms(self.own[n](y), self.gains[n]), self.heads) for n in (0, 1))
        v = by_head(self.own[2](y), self.heads)
        x = torch.addcmul(x, self.own[3](joined(attend(rotate(q, cos, sin), rotate(k, cos, sin), v))), m[2])
        y = functional.layer_norm(x, (x.shape[-1],), self.gains[4], self.gains[5])
        q = by_head(rms(self.cross[0](y), self.gains[2]), self.heads)
        k = by_head(rms(self.cross[1](text), self.gains[3]), self.heads)
        x = x + self.cross[3](joined(attend(q, k, by_head(self.cross[2](text), self.heads))))
        y = torch.addcmul(m[3], norm(x), 1 + m[4])
        return torch.addcmul(x, self.down(functional.gelu(self.up(y), approximate="tanh")), m[5])


class HunyuanBlock(nn.Module):
    def __init__(self, experts, width=2048, context=1024, heads=16):
        super().__init__()
        self.heads, self.routed = heads, experts
        self.q, self.k, self.v, self.out = (linear(width, width, n == 3) for n in range(4))
        self.cross_q, self.cross_out = linear(width, width, False), linear(width, width)
        self.cross_k, self.cross_v = linear(context, width, False), linear(context, width, False)
        self.skip, self.router = linear(2 * width, width), linear(width, 8, False)
        inner = 4 * width
        self.ffn = nn.ModuleList(
            nn.Sequential(linear(width, inner), nn.GELU(), linear(inner, width))
            for _ in range(9 if experts else 1)
        )

    def feed_forward(self, x):
        if not self.routed:
            return self.ffn[0](x)
        flat = x.flatten(0, 1)
        score, chosen = self.router(flat).softmax(-1).topk(2, -1)
        order = chosen.flatten().argsort()
        ends = chosen.flatten().bincount(minlength=8).cumsum(0).tolist()
        out = torch.zeros_like(flat)
        for expert, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            places = order[start:end]
            got = self.ffn[expert](flat[places // 2]) * score.flatten()[places, None]
            out.index_add_(0, places // 2, got)
        return out.view_as(x) + self.ffn[8](x)

    def forward(self, x, context):
        x = norm(self.skip(torch.cat((x, x), -1)))
        y = norm(x)
        x = x + self.out(joined(attend(*(by_head(part(y), self.heads) for part in (self.q, self.k, self.v)))))
        q = by_head(self.cross_q(norm(x)), self.heads)
        k, v = by_head(self.cross_k(context), self.heads), by_head(self.cross_v(context), self.heads)
        x = x + self.cross_out(joined(attend(q, k, v)))
        return x + self.feed_forward(norm(x))


class PixelAttention(nn.Module):
    def __init__(self, channels, dtype=BF16):
        super().__init__()
        made = {"device": DEVICE, "dtype": dtype}
        self.norm = nn.GroupNorm(32, channels, **made)
        self.qkv, self.out = (nn.Conv2d(channels, n * channels, 1, **made) for n in (3, 1))

    def forward(self, x):
        parts = self.qkv(self.norm(x)).chunk(3, 1)
        q, k, v = (y.flatten(2).transpose(1, 2)[:, None].contiguous() for y in parts)
        attended = functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(attended[:, 0].transpose(1, 2).reshape(x.shape))


class PictureResidual(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        made = {"device": DEVICE, "dtype": BF16}
        self.norms = nn.ModuleList(nn.GroupNorm(32, n, **made) for n in (inputs, outputs))
        self.convs = nn.ModuleList(nn.Conv2d(n, outputs, 3, 1, 1, **made) for n in (inputs, outputs))
        self.skip = nn.Conv2d(inputs, outputs, 1, **made) if inputs != outputs else nn.Identity()

    def forward(self, x):
        y = x
        for normed, conv in zip(self.norms, self.convs, strict=True):
            y = conv(functional.silu(normed(y)))
        return self.skip(x) + y


def picture_decoder():
    made = {"device": DEVICE, "dtype": BF16}
    parts = [nn.Conv2d(16, 512, 3, 1, 1, **made), PictureResidual(512, 512), PixelAttention(512)]
    parts.append(PictureResidual(512, 512))
    width = 512
    for level, channels in enumerate((512, 512, 256, 128)):
        for _ in range(3):
            parts.append(PictureResidual(width, channels))
            width = channels
        if level < 3:
            parts += [nn.Upsample(scale_factor=2), nn.Conv2d(channels, channels, 3, 1, 1, **made)]
    return nn.Sequential(*parts, nn.GroupNorm(32, 128, **made), nn.SiLU(), nn.Conv2d(128, 3, 3, 1, 1, **made))


class Causal(nn.Module):
    """A convolution that two earlier frames stand before, as where frames come one after the other."""

    def __init__(self, inputs, outputs, dtype, taps=(3, 3, 3)):
        super().__init__()
        around = (0, taps[1] // 2, taps[2] // 2)
        self.conv = nn.Conv3d(inputs, outputs, taps, padding=around, device=DEVICE, dtype=dtype)

    def forward(self, x):
        return self.conv(torch.cat((x[:, :, :1], x[:, :, :1], x), 2))


class VideoResidual(nn.Module):
    def __init__(self, inputs, outputs, dtype):
        super().__init__()
        self.convs = nn.ModuleList(Causal(n, outputs, dtype) for n in (inputs, outputs))
        same = inputs == outputs
        self.skip = nn.Identity() if same else nn.Conv3d(inputs, outputs, 1, device=DEVICE, dtype=dtype)

    def forward(self, x):
        y = x
        for conv in self.convs:
            y = conv(functional.silu(functional.normalize(y, dim=1) * y.shape[1] ** 0.5))
        return self.skip(x) + y


class VideoUpsample(nn.Module):
    def __init__(self, channels, frames, dtype):
        super().__init__()
        self.doubled = Causal(channels, 2 * channels, dtype, (3, 1, 1)) if frames else None
        self.conv = nn.Conv2d(channels, channels // 2, 3, padding=1, device=DEVICE, dtype=dtype)

    def forward(self, x):
        if self.doubled is not None:
            b, c, n, h, w = x.shape
            y = self.doubled(x).reshape(b, 2, c, n, h, w)
            x = torch.stack((y[:, 0], y[:, 1]), 3).reshape(b, c, 2 * n, h, w)
        frames = x.shape[2]
        y = x.transpose(1, 2).flatten(0, 1)
        larger = functional.interpolate(y.float(), scale_factor=2, mode="nearest-exact").type_as(y)
        return self.conv(larger).unflatten(0, (-1, frames)).transpose(1, 2)


class VideoDecoder(nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.first, self.attention = Causal(16, 384, dtype), PixelAttention(384, dtype)
        self.middle = nn.ModuleList(VideoResidual(384, 384, dtype) for _ in range(2))
        parts = []
        for level, (width, channels) in enumerate(((384, 384), (192, 384), (192, 192), (96, 96))):
            parts += [VideoResidual(width if n == 0 else channels, channels, dtype) for n in range(3)]
            if level < 3:
                parts.append(VideoUpsample(channels, level < 2, dtype))
        self.rest = nn.Sequential(*parts, Causal(96, 3, dtype))

    def forward(self, x):
        x = self.middle[0](self.first(x))
        frames = x.shape[2]
        x = self.attention(x.transpose(1, 2).flatten(0, 1)).unflatten(0, (-1, frames)).transpose(1, 2)
        return self.rest(self.middle[1](x))


class Points(nn.Module):
    """Hunyuan3D's decoder of 8,000 points over 4,096 latents."""

    def __init__(self, width=1024):
        super().__init__()
        self.into, self.q, self.kv = (
            linear(51, width),
            linear(width, width, False),
            linear(width, 2 * width, False),
        )
        self.out, self.up, self.down = (
            linear(width, width),
            linear(width, 4 * width),
            linear(4 * width, width),
        )
        self.sign = linear(width, 1)

    def forward(self, points, latents):
        y = self.into(points)[None]
        k, v = by_head(self.kv(norm(latents)), 16).chunk(2, -1)
        y = y + self.out(joined(attend(by_head(self.q(norm(y)), 16), k.contiguous(), v.contiguous())))
        return self.sign(norm(y + self.down(functional.gelu(self.up(norm(y))))))


def kernels():
    for name, (batch, heads, queries, keys, width) in ATTENTION.items():
        q, k, v = (random(batch, heads, n, width) for n in (queries, keys, keys))
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            case = f"{name} {backend.name.removesuffix('_ATTENTION').lower()}"
            with sdpa_kernel([backend]):
                run = lambda: functional.scaled_dot_product_attention(q, k, v)  # noqa: B023, E731
                time_it("attention", case, run, flop=4 * batch * heads * queries * keys * width, repeats=3)
    for tokens, inputs, outputs in GEMM:
        x, w = random(tokens, inputs), random(outputs, inputs)
        run = lambda: functional.linear(x, w)  # noqa: B023, E731
        time_it("gemm", f"{tokens}x{inputs}x{outputs}", run, flop=2 * tokens * inputs * outputs)


def transformers():
    for side in (1024, 2560):
        tokens = (side // 16) ** 2
        picture, text, moment = random(1, tokens, 3072), random(1, 512, 3072), random(1, 1, 3072)
        turned, both = angles(tokens + 512), torch.cat((text, picture), 1)
        double, single = FluxDouble(), FluxSingle()
        time_it("flux double", side, lambda: double(picture, text, moment, *turned))  # noqa: B023
        time_it("flux single", side, lambda: single(both, moment, *turned))  # noqa: B023
    block = WanBlock()
    for tokens in (33_600, 134_400):
        x, text, moment, turned = (
            random(1, tokens, 5120),
            random(1, 512, 5120),
            random(1, 6, 5120),
            angles(tokens),
        )
        time_it("wan block", tokens, lambda: block(x, text, moment, *turned), repeats=3)  # noqa: B023
    x, context = random(2, 4097, 2048), random(2, 1370, 1024)
    for experts in (False, True):
        one = HunyuanBlock(experts)
        time_it("hunyuan block", "experts" if experts else "dense", lambda: one(x, context))  # noqa: B023


def decoders():
    points, latents, asked = random(8000, 51), random(1, 4096, 1024), Points()
    time_it("volume chunk", "", lambda: asked(points, latents), repeats=20)
    picture = picture_decoder()
    for side in (1024, 2560):
        latent = random(1, 16, side // 8, side // 8)
        time_it("flux vae", side, lambda: picture(latent), repeats=3)  # noqa: B023
    for dtype in (BF16, torch.float32):
        video = VideoDecoder(dtype)
        for side in (640, 1280):
            latent = random(1, 16, 1, side // 8, side // 8, dtype=dtype)
            case = f"{side} {str(dtype).removeprefix('torch.')}"
            time_it("wan vae latent frame", case, lambda: video(latent), repeats=3)  # noqa: B023


@torch.inference_mode()
def main():
    torch.manual_seed(0)
    writer.writeheader()
    kernels()
    transformers()
    decoders()


if __name__ == "__main__":
    main()
