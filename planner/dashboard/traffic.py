"""The traffic of a plan: a rate, users, recorded requests or a fleet file, and the hours of its day."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import streamlit as st

from planner.cli.plan_options import MOST_USERS
from planner.cli.ui import MOST_UPLOADED_MB
from planner.dashboard.asking import catalogue
from planner.dashboard.inputs import forget, part, scenario, seeded, whole
from planner.dashboard.scenario import MOST_GPUS, read_hours
from planner.dashboard.showing import answering
from planner.dashboard.uploads import MOST_TEXT_KB, kept
from planner.errors import InvalidInput, PlannerError
from planner.planning.traffic import PROFILES

RATE, USERS, TRACE, FLEET = "requests a second", "users", "recorded requests", "a fleet file"
ALIKE, OWN_HOURS = "all alike", "24 numbers of your own"
LONGEST_HOURS = 2000
"""Characters of a file of hours."""
MOST_MODELS = 12
"""Of a fleet that is uploaded: each is simulated on every type."""

OF = {
    RATE: ("isl", "osl", "request_rate", "peak_factor", "profile"),
    USERS: ("isl", "osl", "users", "requests_per_user_hour", "think_s", "peak_factor", "profile"),
    TRACE: ("request_rate", "peak_factor"),
}
"""What each kind of traffic says, by argument of `planner.plan`."""


def kind() -> str:
    """Ask where the traffic comes from; what the others say is forgotten."""
    now = scenario()
    begin = USERS if "users" in now and "request_rate" not in now else RATE
    key = seeded("traffic", begin)
    chosen: str = st.radio("The traffic is", (RATE, USERS, TRACE, FLEET), horizontal=True, key=key)
    if chosen in OF:
        others = {name for names in OF.values() for name in names} - {"isl", "osl", *OF[chosen]}
        forget(*others)
    return chosen


def rate() -> None:
    """Ask for requests a second over the day."""
    left, middle, right = st.columns(3)
    with left:
        part("request_rate", "Requests a second", 1e-6, 1e6, "on average over the day")
    with middle:
        part("peak_factor", "Peak over average", 1.0, 1000.0, "empty: 1, or as the hours say")
    with right:
        hours()


def users() -> None:
    """Ask for users, and how often each of them asks."""
    number, often, pause, factor, day = st.columns(5)
    with number:
        whole("users", "Users", MOST_USERS, "on average over the day")
    with often:
        part("requests_per_user_hour", "Requests of each an hour", 1e-6, 1e5, "or a pause between them")
    with pause:
        part("think_s", "Pause between requests, s", 0.0, 1e6, "from an answer to the next request")
    with factor:
        part("peak_factor", "Peak over average", 1.0, 1000.0, "empty: 1, or as the hours say")
    with day:
        hours()


def hours() -> None:
    """Ask how the requests spread over the hours: a name, or 24 numbers that are typed or uploaded."""
    now = scenario().get("profile")
    begin = ALIKE if now is None else now if isinstance(now, str) else OWN_HOURS
    key = seeded("hours", begin)
    chosen = st.selectbox("Hours of the day", (ALIKE, *PROFILES, OWN_HOURS), key=key)
    if chosen != OWN_HOURS:
        _set_hours(None if chosen == ALIKE else chosen)
        return
    shown = "" if now is None or isinstance(now, str) else ", ".join(f"{hour:g}" for hour in now)
    key = seeded("24 hours", shown)
    file = st.file_uploader("A file of 24 numbers", ["csv", "txt"], key="hours file")
    text = st.text_input("or the numbers", key=key, max_chars=LONGEST_HOURS, placeholder="1, 1, 2, ...")
    if file is not None:
        text = file.getvalue()[: LONGEST_HOURS + 1].decode("utf-8", errors="replace")
    if not text.strip():
        _set_hours(None)
        return
    with answering():
        try:
            if len(text) > LONGEST_HOURS:
                raise InvalidInput(f"longer than {LONGEST_HOURS:,} characters; {OWN_HOURS} are needed")
            _set_hours(read_hours(text))
        except PlannerError as error:
            _set_hours(None)
            raise InvalidInput(f"hours of the day: {error}") from None


def _set_hours(value: str | tuple[float, ...] | None) -> None:
    if value is None:
        forget("profile")
    else:
        scenario()["profile"] = value


def trace() -> Path | None:
    """Ask for a file of recorded requests."""
    file = st.file_uploader(
        f"Recorded requests, up to {MOST_UPLOADED_MB} MB: a CSV or lines of JSON with arrival_s, isl and osl",
        ["csv", "json", "jsonl", "txt"],
        key="trace file",
    )
    left, right = st.columns(2)
    with left:
        part("request_rate", "Requests a second", 1e-6, 1e6, "empty: as recorded")
    with right:
        part("peak_factor", "Peak over average", 1.0, 1000.0, "empty: as recorded")
    return None if file is None else _kept("trace", file.name, file.getvalue(), MOST_UPLOADED_MB * 1024)


def fleet() -> Path | None:
    """Ask for a fleet file, and refuse one that names anything but entries of the catalogue.

    Raises
    ------
    PlannerError
        Where it is wrong, too large, or names a file or a model elsewhere.
    """
    file = st.file_uploader(
        f"A fleet file, as docs/plan.md explains it, up to {MOST_TEXT_KB} KB",
        ["yaml", "yml"],
        key="fleet file",
    )
    if file is None:
        return None
    path = _kept("fleet", file.name, file.getvalue(), MOST_TEXT_KB)
    _check_fleet(path)
    return path


def _kept(what: str, name: str, content: bytes, most_kb: int) -> Path:
    """Keep a file under a folder that is named by what is in it, so that another content is another path."""
    return kept(name, content, under=f"{what}-{hashlib.sha256(content).hexdigest()[:16]}", most_kb=most_kb)


def _check_fleet(path: Path) -> None:
    from planner.planning.fleet_asked import read_fleet

    asked = read_fleet(path)
    if len(asked.models) > MOST_MODELS or len(asked.gpus) > MOST_GPUS:
        raise InvalidInput(
            f"{path.name}: {len(asked.models)} models on {len(asked.gpus)} types; up to {MOST_MODELS} on "
            f"{MOST_GPUS} can be planned here, and more on the command line"
        )
    for one in asked.models:
        catalogue().resolve("models", one.model)  # a path or a hub id is no name of the catalogue
        if one.trace is not None:
            raise InvalidInput(
                f"{path.name}: {one.model}: a file that is uploaded names no other; give isl, osl and a "
                "rate or users instead of a trace, or plan on the command line"
            )


def needed(chosen: str, now: dict[str, Any]) -> str:
    """Return what is still to be given, in a sentence; empty where a plan can be made."""
    limits = {"slo_ttft_s", "slo_tpot_s", "slo_e2e_s"} & set(now)
    limit = "" if limits else "at least one limit that 95 % of the requests must keep"
    first = {
        RATE: "" if "request_rate" in now else "requests a second",
        USERS: ""
        if "users" in now and len({"requests_per_user_hour", "think_s"} & set(now)) == 1
        else "users, with either requests of each an hour or a pause",
        TRACE: "" if "trace" in now else "a file of recorded requests",
    }[chosen]
    lacking = [one for one in (first, limit) if one]
    return f"Give {', and '.join(lacking)}." if lacking else ""
