"""The flags that engines accept, read from their own argument parsers, and a check of launch lines by them.

A long check, for a Python in which an engine's parser can be imported: CPU builds of torch and the packages
that the engine's modules import, no GPU. SOURCE is a folder with the engine's package (an unpacked wheel).

    python benchmarks/launch_parsers.py extract vllm SOURCE VERSION > vllm-0.20.2.json
    python benchmarks/launch_parsers.py merge *.json > data/launch_flags.yaml
    python benchmarks/launch_parsers.py check vllm SOURCE VERSION

`extract` prints flags with types and choices, `merge` joins versions into the data file that `planner launch`
reads, and `check` has the parser read every line that planner prints for a set of deployments.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

MISSING = ("datasets", "torchvision", "sgl_kernel")
"""Packages that no parser needs; stand-ins do where they are not installed."""

NUMBERS = {"int": "int", "human_readable_int": "int", "human_readable_int_or_auto": "int", "float": "float"}
JSON_FLAGS = ("config", "kwargs", "limit-mm-per-prompt")

KEPT = {
    "vllm": """--host --port --headless --api-server-count --served-model-name --tokenizer
        --tokenizer-mode --config-format --trust-remote-code --dtype --quantization --load-format
        --max-model-len --tensor-parallel-size
        --pipeline-parallel-size --data-parallel-size --data-parallel-size-local
        --data-parallel-start-rank --data-parallel-address --data-parallel-rpc-port
        --data-parallel-backend --decode-context-parallel-size --enable-expert-parallel --nnodes
        --node-rank --master-addr --master-port --distributed-executor-backend --gpu-memory-utilization
        --kv-cache-memory-bytes --kv-cache-dtype --block-size --max-num-seqs --max-num-batched-tokens
        --enable-prefix-caching --enforce-eager --cpu-offload-gb --speculative-config --kv-transfer-config
        --language-model-only --limit-mm-per-prompt --attention-backend --hf-overrides""",
    "sglang": """--model-path --host --port --served-model-name --trust-remote-code --dtype
        --quantization --load-format --context-length --tp-size --pp-size --dp-size --ep-size --dcp-size
        --attn-dp-size --enable-dp-attention --moe-dense-tp-size --nnodes --node-rank --dist-init-addr
        --mem-fraction-static --max-running-requests --chunked-prefill-size --kv-cache-dtype --page-size
        --disable-radix-cache --disable-cuda-graph --cpu-offload-gb --speculative-algorithm
        --speculative-draft-model-path --speculative-num-steps --speculative-eagle-topk
        --speculative-num-draft-tokens --language-model-only --disaggregation-mode
        --disaggregation-transfer-backend --disaggregation-bootstrap-port --attention-backend
        --enable-metrics""",
    "vllm-bench": """--backend --base-url --host --port --endpoint --model --served-model-name
        --tokenizer --dataset-name --random-input-len --random-output-len --random-range-ratio
        --random-prefix-len --num-prompts --num-warmups --max-concurrency --request-rate --burstiness
        --ignore-eos --seed --save-result --result-dir --result-filename --percentile-metrics
        --metric-percentiles --temperature --ready-check-timeout-sec --trust-remote-code""",
    "sglang-bench": """--backend --base-url --host --port --model --served-model-name --tokenizer
        --dataset-name --random-input-len --random-output-len --random-range-ratio --num-prompts
        --max-concurrency --request-rate --seed --output-file --warmup-requests --disable-ignore-eos
        --flush-cache""",
    "llama.cpp": """--n-cpu-moe --model --hf-repo --host --port --ctx-size --parallel --batch-size
        --ubatch-size --gpu-layers --split-mode --tensor-split --cache-type-k --cache-type-v --flash-attn
        --no-mmproj --no-kv-unified --spec-draft-model --spec-draft-n-max --no-cache-prompt --metrics
        --alias""",
}
"""What `planner launch` prints or may print, by program."""


def vllm_parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of `vllm serve` and `vllm bench serve`."""
    import vllm.platforms as platforms
    from vllm.platforms.cpu import CpuPlatform

    platforms._current_platform = CpuPlatform()
    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser
    try:
        from vllm.entrypoints.openai.cli_args import make_arg_parser
    except ImportError:
        from vllm.entrypoints.common.cli_args import make_arg_parser
    serve = make_arg_parser(FlexibleArgumentParser())
    if not any("--headless" in action.option_strings for action in serve._actions):
        serve.add_argument("--headless", action="store_true")  # older versions add it beside the parser
    from vllm.benchmarks.serve import add_cli_args

    bench = FlexibleArgumentParser()
    add_cli_args(bench)
    return {"vllm": serve, "vllm-bench": bench}


def sglang_parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of `sglang.launch_server` and `sglang.bench_serving`."""
    from sglang.srt.server_args import ServerArgs

    serve = argparse.ArgumentParser()
    ServerArgs.add_cli_args(serve)
    return {"sglang": serve, "sglang-bench": _captured_bench()}


class _Captured(Exception):
    """Carries the parser out of a program that parses at once."""


def _captured_bench() -> argparse.ArgumentParser:
    """Return the parser that bench_serving builds in its main block."""
    import runpy

    held: list[argparse.ArgumentParser] = []

    def keep(self: argparse.ArgumentParser, *_: Any, **__: Any) -> Any:
        held.append(self)
        raise _Captured

    original = argparse.ArgumentParser.parse_args
    argparse.ArgumentParser.parse_args = keep  # type: ignore[method-assign]
    try:
        for module in ("sglang.benchmark.serving", "sglang.bench_serving"):
            try:
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            except _Captured:
                break
            except ImportError:
                continue
    finally:
        argparse.ArgumentParser.parse_args = original  # type: ignore[method-assign]
    return held[-1]


class StandIns(MetaPathFinder, Loader):
    """Gives empty modules for packages that engines import beside their parsers."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in MISSING else None

    def create_module(self, spec: ModuleSpec) -> Any:
        module = MagicMock(__name__=spec.name, __path__=[], __version__="0.0")
        module.__spec__ = spec
        return module

    def exec_module(self, module: Any) -> None:
        return None


PARSERS = {"vllm": vllm_parsers, "sglang": sglang_parsers}


def flag_record(action: argparse.Action) -> dict[str, Any]:
    """Return type and choices of a flag as the data file has them."""
    name = getattr(action.type, "__name__", "")
    flag = max((text for text in action.option_strings if text.startswith("--")), key=len)
    if action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction):
        return {"type": "bool"}
    choices = [str(choice) for choice in action.choices] if action.choices else []
    if name in NUMBERS:
        return {"type": NUMBERS[name]}
    if isinstance(action.default, bool | int | float) and not choices:
        return {"type": "float" if isinstance(action.default, float) else "int"}
    if any(word in flag for word in JSON_FLAGS) and "distributed" not in flag:
        return {"type": "json"}
    return {"type": "str", **({"choices": sorted(choices)} if choices else {})}


C_OPTION = re.compile(r"common_arg\(\s*\{([^}]*)\},\s*(\"([^\"]*)\"|\{([^}]*)\},|[a-z_]+\()")
C_TYPES = {"N": "int", "INDEX": "int", "PORT": "int"}


def llama_flags(source: str) -> dict[str, Any]:
    """Return the kept flags of llama-server, read from `common/arg.cpp`: Python imports no parser of it."""
    flags: dict[str, Any] = {}
    for names, rest, hint, negatives in C_OPTION.findall((Path(source) / "common" / "arg.cpp").read_text()):
        takes_value = (
            (rest.startswith('"') and len(hint) < 40 and hint == hint.upper()) or "{" in hint or "|" in hint
        )
        plain = re.findall(r'"(--[^"]+)"', names)
        for name in plain:
            choices = re.findall(r"[a-z]+", hint) if hint[:1] in ("{", "[") else []
            record = {"type": C_TYPES.get(hint, "str") if takes_value or hint.startswith("<") else "bool"}
            flags.setdefault(name, {**record, **({"choices": sorted(choices)} if choices else {})})
        for name in re.findall(r'"(--[^"]+)"', negatives):
            flags.setdefault(name, {"type": "bool"})
    flags["--gpu-layers"] = {"type": "str"}  # a number, "auto" or "all"
    return {name: flags[name] for name in KEPT["llama.cpp"].split() if name in flags}


def extract(engine: str, version: str, source: str) -> dict[str, Any]:
    """Return the kept flags of each program of an engine."""
    if engine == "llama.cpp":
        return {"engine": engine, "version": version, "programs": {engine: llama_flags(source)}}
    found: dict[str, Any] = {}
    for program, parser in PARSERS[engine]().items():
        kept = KEPT[program].split()
        flags = {}
        for action in parser._actions:
            for name in kept:
                if name in action.option_strings:
                    flags[name] = flag_record(action)
        found[program] = {name: flags[name] for name in kept if name in flags}
    return {"engine": engine, "version": version, "programs": found}


def merged(files: Iterable[str]) -> dict[str, Any]:
    """Join versions: a flag that stays as it is stands once, with the first and last version that has it."""
    read = sorted(
        (json.loads(Path(file).read_text()) for file in files), key=lambda one: _numbers(one["version"])
    )
    programs: dict[str, Any] = {}
    for one in read:
        for program, flags in one["programs"].items():
            held = programs.setdefault(program, {"versions": [], "flags": {}})
            before = held["versions"][-1] if held["versions"] else None
            for name, record in flags.items():
                spans = held["flags"].setdefault(name, [])
                same = spans and {k: v for k, v in spans[-1].items() if k not in ("since", "to")} == record
                if not (same and spans[-1]["to"] == before):
                    spans.append({**record, "since": one["version"]})
                spans[-1]["to"] = one["version"]
            held["versions"].append(one["version"])
    return programs


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def yaml_text(programs: dict[str, Any]) -> str:
    """Write the joined flags, one line for each span of versions."""
    lines = []
    for program, held in programs.items():
        lines += [f"  {program}:", f"    versions: [{', '.join(json.dumps(v) for v in held['versions'])}]"]
        lines.append("    flags:")
        last = held["versions"][-1]
        for name, spans in held["flags"].items():
            lines.append(f"      {name}:")
            for span in spans:
                fields = [f"type: {span['type']}"]
                if span["since"] != held["versions"][0]:
                    fields.append(f"since: {json.dumps(span['since'])}")
                if span["to"] != last:
                    fields.append(f"to: {json.dumps(span['to'])}")
                if "choices" in span:
                    fields.append(f"choices: [{', '.join(json.dumps(c) for c in span['choices'])}]")
                lines.append(f"        - {{{', '.join(fields)}}}")
    return "\n".join(lines) + "\n"


DEPLOYMENTS: tuple[dict[str, Any], ...] = (
    {"model": "llama-3.1-8b", "gpu": "h100"},
    {"model": "llama-3.3-70b", "gpu": "mi300x", "context": 32768, "concurrency": 16},
    {
        "model": "llama-3.3-70b",
        "gpu": "h100",
        "gpus": 16,
        "pp": 2,
        "tp": 8,
        "kv_dtype": "fp8",
        "context": 8192,
    },
    {"model": "kimi-k3", "gpu": "b200", "context": 131072},
    {"model": "kimi-k3", "gpu": "mi355x", "context": 131072},
    {"model": "mistral-large-3", "gpu": "b200", "tp": 8, "context": 32768},
    {"model": "gpt-oss-120b", "gpu": "mi355x", "context": 32768},
    {"model": "deepseek-r1", "gpu": "h200", "tp": 8, "dcp": 8, "context": 65536},
    {"model": "deepseek-r1", "gpu": "h200", "dp": 16, "ep": 16, "context": 32768},
    {"model": "deepseek-r1", "gpu": "h200", "tp": 8, "disaggregated": (8, 16), "context": 32768},
    {
        "model": "qwen3-235b-a22b",
        "gpu": "b200",
        "tp": 4,
        "ep": 4,
        "memory_fraction": 0.85,
        "max_num_seqs": 128,
    },
    {"model": "qwen3-8b", "gpu": "h100", "prefix_caching": False, "enforce_eager": True, "block_size": 32},
    {"model": "llama-3.3-70b", "gpu": "h200", "draft_model": "llama-3.1-8b", "speculative_tokens": 3},
    {"model": "gemma-3-27b", "gpu": "h100", "text_only": True, "context": 8192},
)


def check(engine: str, version: str) -> int:
    """Have the engine's parser read the lines for `DEPLOYMENTS`; return how many it does not take."""
    import planner
    from planner.errors import PlannerError

    parsers = PARSERS[engine]()
    bench = parsers[f"{engine}-bench"]
    failures = lines = 0
    for asked in DEPLOYMENTS:
        try:
            report = planner.launch(**{"isl": 2000, "osl": 500, **asked}, engine=f"{engine}=={version}")
        except PlannerError as error:
            print(f"refused {asked}: {error}")
            continue
        words = [line.words for server in report.launch.servers for line in server.lines]
        found = [(parsers[engine], list(line)) for line in words if line[0] != "ray"]
        assert report.test is not None
        for parser, line in [*found, (bench, list(report.test.bench))]:
            first = next(number for number, word in enumerate(line) if word.startswith("--"))
            lines += 1
            try:
                parser.parse_args([str(word) for word in line[first:]])
            except SystemExit:
                failures += 1
                print(f"not taken: {' '.join(line)}")
    print(f"{engine} {version}: {lines} lines of {len(DEPLOYMENTS)} deployments, {failures} not taken")
    return failures


def main() -> None:
    mode, *rest = sys.argv[1:]
    if mode == "merge":
        print(yaml_text(merged(rest)), end="")
        return
    engine, source, version = rest
    sys.path.insert(0, source)
    sys.meta_path.append(StandIns())
    if mode == "extract":
        print(json.dumps(extract(engine, version, source), indent=1))
    else:
        raise SystemExit(check(engine, version))


if __name__ == "__main__":
    main()
