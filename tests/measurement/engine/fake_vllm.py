"""Writes a package that looks like vLLM from the outside: requests take known times."""

from __future__ import annotations

from pathlib import Path

STEP_S = 0.004
TOKEN_S = 2e-6
FILES = {
    "torch/__init__.py": """
from types import SimpleNamespace
__version__, version = "2.11.0", SimpleNamespace(hip=None, cuda="13.0")
""",
    "vllm/__init__.py": "__version__ = '0.20.2'\n",
    "vllm/engine/__init__.py": "",
    "vllm/usage/__init__.py": "",
    "vllm/v1/__init__.py": "",
    "vllm/v1/engine/__init__.py": "",
    "vllm/usage/usage_lib.py": "class UsageContext:\n    OPENAI_API_SERVER = 1\n",
    "vllm/sampling_params.py": """
class RequestOutputKind:
    DELTA = 1

class SamplingParams:
    def __init__(self, **given):
        self.__dict__.update(given)
""",
    "vllm/engine/arg_utils.py": """
class AsyncEngineArgs:
    def __init__(self, **given):
        self.given = given
""",
    "vllm/v1/engine/async_llm.py": """
import asyncio, json, os, subprocess, sys, time
from types import SimpleNamespace as Some

class AsyncLLM:
    @classmethod
    def from_engine_args(cls, arguments, usage_context=None):
        how = os.environ.get("FAKE_VLLM", "")
        config = json.load(open(os.path.join(arguments.given["model"], "config.json")))
        print(f"INFO Initializing a V1 LLM engine (v0.20.2) with config: model='{arguments.given['model']}', "
              "max_seq_len=36864, tensor_parallel_size=1", flush=True)
        if how == "broken":
            raise RuntimeError("torch.OutOfMemoryError: CUDA out of memory")
        if how == "hanging":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            print("child", child.pid, flush=True)
            time.sleep(600)
        print("INFO Model loading took 14.99 GiB memory and 1.2 seconds")
        print("INFO Available KV cache memory: 111.01 GiB")
        print("INFO GPU KV cache size: 909,408 tokens")
        print("INFO Maximum concurrency for 36,864 tokens per request: 24.67x")
        print("INFO Graph capturing finished in 9 secs, took 0.64 GiB", flush=True)
        engine = cls()
        engine.vllm_config = Some(
            model_config=Some(get_vocab_size=lambda: config["vocab_size"], max_model_len=36864,
                              enforce_eager=False, quantization=None),
            cache_config=Some(gpu_memory_utilization=0.92, block_size=16, cache_dtype="auto"),
            scheduler_config=Some(max_num_seqs=1024, max_num_batched_tokens=8192, async_scheduling=True),
        )
        return engine

    async def collective_rpc(self, method, args=()):
        if args[0].__module__ == "__main__":
            raise RuntimeError("another process has no such function in its main module")
        return [7]

    async def generate(self, prompt, parameters, name):
        assert parameters.temperature == 1.0 and parameters.ignore_eos
        if parameters.max_tokens == 13:
            raise ValueError("thirteen")
        start = time.perf_counter() + TOKEN_S * len(prompt["prompt_token_ids"])
        for number in range(parameters.max_tokens):
            await asyncio.sleep(max(0.0, start + STEP_S * number - time.perf_counter()))
            yield Some(outputs=[Some(token_ids=[1])])

    def shutdown(self):
        pass
""".replace("TOKEN_S", str(TOKEN_S)).replace("STEP_S", str(STEP_S)),
}


def write_fake_vllm(directory: Path) -> Path:
    """Write the package and return the directory that holds it."""
    for name, text in FILES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return directory
