"""What a server is and takes: its models, its version, which options it accepts and how it counts tokens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from planner.errors import InvalidInput, PlannerError, nearest_names, shorten
from planner.measurement.endpoint.address import Address, parse_address
from planner.measurement.endpoint.client import OK, Call, Client, failure_text
from planner.measurement.endpoint.http import Failed, Http
from planner.measurement.endpoint.prompts import PromptStyle, probe_prompt, request_body
from planner.measurement.endpoint.records import Endpoint, Outcome

ASK_S, CONNECT_S = 60.0, 15.0
MOST_TRIES = 8
MOST_REDIRECTS = 3
REDIRECTS = range(300, 400)
NOT_ALLOWED = (401, 403)
NOT_UNDERSTOOD = ("http-400", "http-422")
FEW_UNITS, MANY_UNITS = 32, 288
"""Lengths of two prompts whose counted tokens give the tokens of a word."""

FEW_TOKENS, MANY_TOKENS = 2, 256
"""Output of a request that tries the server out."""

DROPPABLE = ("min_tokens", "ignore_eos", "stream_options", "temperature")
MOST_LISTED = 12


class Refused(PlannerError):
    """A server that cannot be reached, or does not do what is asked."""


@dataclass(frozen=True, slots=True)
class Server:
    """What is known of a server before it is loaded.

    Parameters
    ----------
    address : Address
        Where it is, after redirects.
    served_model : str
        The name it knows the model by.
    max_model_len : int or None
        Longest request that it says it takes [tokens].
    engine : str or None
        Engine and version that it says it is.
    options : dict
        What goes into each request beside prompt and length.
    output_name : str
        How the limit of the output is called.
    style : PromptStyle
        How prompts are made.
    notes : tuple of str
        What the user should know.
    """

    address: Address
    served_model: str
    max_model_len: int | None
    engine: str | None
    options: dict[str, Any]
    output_name: str
    style: PromptStyle
    notes: tuple[str, ...] = ()


class Probe:
    """Asks a server about itself.

    Parameters
    ----------
    endpoint : Endpoint
        The server, and how it is to be asked.
    fields : mapping
        Of the head of every request.
    key_name : str
        The environment variable of the key, for messages.
    hide : callable
        Takes secrets out of a text.
    """

    def __init__(
        self, endpoint: Endpoint, fields: Mapping[str, str], key_name: str, hide: Callable[[str], str]
    ) -> None:
        self._endpoint = endpoint
        self._fields = fields
        self._key_name = key_name
        self._hide = hide
        self._seed: tuple[int, ...] = (0,)
        self._osl = FEW_TOKENS
        self._to(parse_address(endpoint.url))

    def _to(self, address: Address) -> None:
        self._address = address
        self.http = Http(address.root, self._fields, min(CONNECT_S, self._endpoint.timeout_s))

    async def server(self, seed: tuple[int, ...]) -> Server:
        """Return what the server is.

        Parameters
        ----------
        seed : sequence of int
            Of the prompts that try it out.

        Returns
        -------
        Server

        Raises
        ------
        Refused, InvalidInput
            With one line that says what is wrong.
        """
        self._seed = seed
        listed = await self._models()
        model = self._choose(listed)
        options, output_name, outcome = await self._options(model)
        notes = tuple(
            f"the server does not take {name}" + NOTE_OF_OPTION.get(name, "")
            for name in DROPPABLE
            if name not in options
        )
        if outcome.output_tokens is None:
            notes += ("the server counts no tokens: each chunk is taken for one, and each word of input",)
        style = await self._style(model, options, output_name)
        about = listed.get(model, {})
        return Server(
            address=self._address,
            served_model=model,
            max_model_len=length if isinstance(length := about.get("max_model_len"), int) else None,
            engine=await self._engine(about.get("owned_by")),
            options=options,
            output_name=output_name,
            style=style,
            notes=notes,
        )

    def _choose(self, listed: dict[str, dict[str, Any]]) -> str:
        asked = self._endpoint.served_model
        names = ", ".join(list(listed)[:MOST_LISTED]) + (", ..." if len(listed) > MOST_LISTED else "")
        if asked is None:
            if len(listed) != 1:
                found = f"serves {names}; choose one" if listed else "does not list its models; name one"
                raise Refused(f"{self._address.root} {found} with --served-model")
            return next(iter(listed))
        if listed and asked not in listed:
            near = nearest_names(asked, listed)
            hint = f" (nearest: {', '.join(near)})" if near and len(listed) > 1 else ""
            raise Refused(f"--served-model {shorten(asked)}: {self._address.root} serves {names}{hint}")
        return asked

    async def _models(self) -> dict[str, dict[str, Any]]:
        """Return the models that the server lists, by name; none where it has no such list."""
        for _ in range(MOST_REDIRECTS):
            status, found = await self._get(self._address.path("models"))
            if status in REDIRECTS:
                self._move(str(found))
            elif status in NOT_ALLOWED:
                raise Refused(self._not_allowed(status, str(found)))
            else:
                data = found.get("data") if status == OK and isinstance(found, dict) else None
                items = data if isinstance(data, list) else []
                return {
                    item["id"]: item
                    for item in items
                    if isinstance(item, dict) and isinstance(item.get("id"), str)
                }
        raise Refused(f"{self._address.root} redirects without end")

    def _move(self, location: str) -> None:
        """Follow a redirect on the same host and port, or to TLS; a key is not sent anywhere else."""
        target = urljoin(self._address.path("models"), location)
        here, there = urlsplit(self._address.root), urlsplit(target)
        secured = (here.scheme, there.scheme) == ("http", "https") and here.port is there.port is None
        if here.hostname != there.hostname or not (secured or here[:2] == there[:2]):
            raise Refused(f"{self._address.root} redirects to {shorten(target)}; give that address")
        self.http.close()
        self._to(parse_address(target))

    def _not_allowed(self, status: int, said: str) -> str:
        return (
            f"{self._address.root} does not allow it ({status}: {self._hide(said)[:120]}); a key is read "
            f"from the environment variable {self._key_name}"
        )

    async def _get(self, url: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Return status and JSON of an answer; of a refusal what the server says, of a redirect where to."""
        data = b"" if body is None else json.dumps(body).encode()
        try:
            async with asyncio.timeout(ASK_S):
                answer = await self.http.fetch("GET" if body is None else "POST", url, data)
        except TimeoutError:
            raise Refused(f"{self._address.root}: no answer within {ASK_S:g} s") from None
        except Failed as failure:
            raise Refused(f"{self._address.root}: {self._hide(failure.detail)}") from None
        if answer.status in REDIRECTS:
            return answer.status, self._hide(answer.fields.get("location", ""))
        if answer.status != OK:
            return answer.status, failure_text(answer.fields, answer.body)
        try:
            return OK, json.loads(self._hide(answer.body.decode()))
        except (ValueError, RecursionError):
            return OK, None

    async def _options(self, model: str) -> tuple[dict[str, Any], str, Outcome]:
        """Return the options that the server takes, leaving out one after another that it refuses."""
        options: dict[str, Any] = {
            "model": model,
            "stream": True,
            "temperature": self._endpoint.temperature,
            "stream_options": {"include_usage": True},
            "ignore_eos": True,
            "min_tokens": 1,
        }
        output_name = "max_tokens"
        outcome = await self._try(options, output_name, WORD_STYLE, FEW_UNITS)
        for _ in range(MOST_TRIES):
            if outcome.error == "no-output" and self._osl == FEW_TOKENS:
                # A model that thinks where nobody sees it says nothing at once.
                self._osl = MANY_TOKENS
            elif outcome.error not in NOT_UNDERSTOOD:
                break
            elif "max_completion_tokens" in outcome.detail and output_name == "max_tokens":
                output_name = "max_completion_tokens"
            else:
                left = [name for name in DROPPABLE if name in options]
                named = [name for name in left if name in outcome.detail] or left[:1]
                if not named:
                    break
                for name in named:
                    del options[name]
            outcome = await self._try(options, output_name, WORD_STYLE, FEW_UNITS)
        if outcome.error is not None:
            raise Refused(self._refusal(outcome))
        return options, output_name, outcome

    def _refusal(self, outcome: Outcome) -> str:
        where = self._address.path(self._path)
        status = (outcome.error or "").removeprefix("http-")
        if status.isdecimal() and int(status) in NOT_ALLOWED:
            return self._not_allowed(int(status), outcome.detail)
        other = "chat" if self._endpoint.api == "completions" else "completions"
        elsewhere = status in ("404", "405") and "model" not in outcome.detail.lower()
        hint = f"; try --api {other}" if elsewhere else ""
        return f"{where} does not serve a first request ({outcome.error}): {outcome.detail}{hint}"

    @property
    def _path(self) -> str:
        return "completions" if self._endpoint.api == "completions" else "chat/completions"

    async def _try(
        self, options: dict[str, Any], output_name: str, style: PromptStyle, units: int
    ) -> Outcome:
        prompt, osl = probe_prompt(style, units, self._seed), self._osl
        body = request_body(self._endpoint.api, prompt, osl, options, output_name)
        timeout_s = min(self._endpoint.timeout_s, 10 * ASK_S)
        client = Client(self.http, self._address.path(self._path), timeout_s, self._hide)
        return await client.ask(Call(0, False, units, osl, body), 0.0)

    async def _style(self, model: str, options: dict[str, Any], output_name: str) -> PromptStyle:
        """Return how prompts are made: of ids where the server takes them, else of words that it counts."""
        if self._endpoint.api == "completions":
            ids = PromptStyle("ids")
            outcome = await self._try(options, output_name, ids, FEW_UNITS)
            if outcome.error is None and outcome.input_tokens == FEW_UNITS:
                return ids
        counts = [await self._count(model, units, options, output_name) for units in (FEW_UNITS, MANY_UNITS)]
        few, many = counts
        if few is None or many is None or many <= few:
            return WORD_STYLE
        slope = (many - few) / (MANY_UNITS - FEW_UNITS)
        return PromptStyle("words", few - slope * FEW_UNITS, slope)

    async def _count(self, model: str, units: int, options: dict[str, Any], output_name: str) -> int | None:
        """Return the tokens of a prompt of words: by /tokenize where there is one, else from the usage."""
        prompt = probe_prompt(WORD_STYLE, units, self._seed)
        chat = self._endpoint.api == "chat"
        text = {"messages": [{"role": "user", "content": prompt}]} if chat else {"prompt": prompt}
        status, found = await self._get(f"{self._address.root}/tokenize", {"model": model, **text})
        count = found.get("count") if status == OK and isinstance(found, dict) else None
        if isinstance(count, int):
            return count
        return (await self._try(options, output_name, WORD_STYLE, units)).input_tokens

    async def _engine(self, owner: object) -> str | None:
        """Return engine and version where the server states them, as vLLM and SGLang do."""
        name = owner if owner in ("vllm", "sglang") else None
        if name is None:
            return None
        status, found = await self._get(f"{self._address.root}/version")
        version = found.get("version") if status == OK and isinstance(found, dict) else None
        return f"{name}=={version}" if isinstance(version, str) and version else str(name)


WORD_STYLE = PromptStyle("words")
NOTE_OF_OPTION = {
    "min_tokens": ": outputs may be shorter than asked",
    "ignore_eos": ": outputs may be shorter than asked",
    "stream_options": ": the tokens of a request may not be known",
    "temperature": " as asked: it is the server's own",
}


def check_length(server: Server, isl: int, osl: int) -> None:
    """Refuse requests that are longer than the server says it takes.

    Parameters
    ----------
    server : Server
        The server.
    isl, osl : int
        The longest input and output of one request [tokens].

    Raises
    ------
    InvalidInput
        With both figures.
    """
    if server.max_model_len is not None and isl + osl > server.max_model_len:
        raise InvalidInput(
            f"a request of {isl:,} tokens in and {osl:,} out is longer than the {server.max_model_len:,} "
            f"that {server.served_model} is served with"
        )
