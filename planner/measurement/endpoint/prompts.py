"""Prompts of a known number of tokens that no prefix cache can know, and the body of a request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from planner.measurement.endpoint.records import Api

LOWEST_ID, HIGHEST_ID = 1000, 29_999
"""Token ids that are plain text in every usual vocabulary: above the special ones, below 32,000."""

_TEXT = """
time year people way day man thing woman life child world school state family student group country
problem hand part place case week company system program question work government number night point home
water room mother area money story fact month lot right study book eye job word business issue side kind
head house service friend father power hour game line end member law car city community name president
team minute idea body information back parent face others level office door health person art war history
party result change morning reason research girl guy moment air teacher force education foot boy age
policy music market sense nation plan college interest death course someone experience behind role effect
use class control field development process heart road report action price form picture value building
table model paper space ground event official matter center couple site project activity star cost
industry figure street image phone data cover quality pressure answer view practice wall support test shot
land hope bank son west color film movement order top deal sign blood north rate record method board stage
unit sea fire page tree wind red green blue black white small large long short high low early late young
old new good great big little own same able best better sure clear free full
"""
WORDS = tuple(_TEXT.split())
"""Common words: with a space before it, each is one token in the usual vocabularies."""

Style = Literal["ids", "words"]


@dataclass(frozen=True, slots=True)
class PromptStyle:
    """How prompts of a given length are made for one server.

    Parameters
    ----------
    kind : str
        ``ids``: a list of token ids, which needs no tokenizer and is exact. ``words``: text of common words.
    base_tokens : float
        Tokens that the server adds, such as those of a chat template.
    tokens_per_word : float
        Slope of the tokens of a text in its words, as the server counts them.
    """

    kind: Style
    base_tokens: float = 0.0
    tokens_per_word: float = 1.0

    def units(self, tokens: int) -> int:
        """Return the ids or words of a prompt of so many tokens."""
        if self.kind == "ids":
            return tokens
        return max(1, round((tokens - self.base_tokens) / self.tokens_per_word))


class Prompts:
    """Random prompts, each different from all others but for the share that was asked to be the same.

    Parameters
    ----------
    style : PromptStyle
        How they are written.
    prefix_hit : float
        Share of each prompt, from its start, that all have in common.
    seed : sequence of int
        Of the words; with a number that no earlier run had, so that a cache does not know them from then.
    """

    def __init__(self, style: PromptStyle, prefix_hit: float, seed: tuple[int, ...]) -> None:
        self._style = style
        self._hit = prefix_hit
        self._seed = seed
        self._common: list[int] = []

    def make(self, number: int, tokens: int) -> str | list[int]:
        """Return the prompt of one request.

        Parameters
        ----------
        number : int
            Which request; each has its own prompt.
        tokens : int
            Its length.

        Returns
        -------
        str or list of int
            Text, or token ids.
        """
        units = self._style.units(tokens)
        shared = round(self._hit * units)
        if shared > len(self._common):
            # The longer of two draws of one generator begins with the shorter.
            self._common = self._draw((*self._seed, 0), shared)
        drawn = self._common[:shared] + self._draw((*self._seed, 1, number), units - shared)
        if self._style.kind == "ids":
            return drawn
        return " ".join([WORDS[index] for index in drawn])

    def _draw(self, seed: tuple[int, ...], count: int) -> list[int]:
        low, high = (LOWEST_ID, HIGHEST_ID + 1) if self._style.kind == "ids" else (0, len(WORDS))
        drawn: list[int] = np.random.default_rng(seed).integers(low, high, size=count).tolist()
        return drawn


def probe_prompt(style: PromptStyle, units: int, seed: tuple[int, ...]) -> str | list[int]:
    """Return a prompt that tries a server out; of ids it holds the lowest and the highest."""
    prompt = Prompts(style, 0.0, seed).make(0, units)
    return [LOWEST_ID, HIGHEST_ID, *prompt[2:]] if isinstance(prompt, list) else prompt


def request_body(
    api: Api, prompt: str | list[int], osl: int, options: Mapping[str, Any], output_name: str
) -> bytes:
    """Return the body of a request.

    Parameters
    ----------
    api : str
        ``completions`` or ``chat``.
    prompt : str or list of int
        Text, or token ids.
    osl : int
        Output tokens.
    options : mapping
        What else is asked, such as the model and the temperature; ``min_tokens`` is set to `osl` where it is
        there.
    output_name : str
        The name of the limit of the output: ``max_tokens`` or ``max_completion_tokens``.

    Returns
    -------
    bytes
        JSON.
    """
    body: dict[str, Any] = {**options, output_name: osl}
    if "min_tokens" in body:
        body["min_tokens"] = osl
    if api == "completions":
        body["prompt"] = prompt
    else:
        body["messages"] = [{"role": "user", "content": prompt}]
    return json.dumps(body, separators=(",", ":")).encode()
