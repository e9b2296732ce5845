"""Addresses as people write them."""

import pytest

from planner.errors import InvalidInput
from planner.measurement.endpoint.address import parse_address


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1/chat/completions"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1/chat/completions"),
        ("https://host/v1/chat/completions", "https://host/v1/chat/completions"),
        ("https://host/v1/completions", "https://host/v1/chat/completions"),
        ("https://host/openai/v1", "https://host/openai/v1/chat/completions"),
        ("https://host/proxy", "https://host/proxy/v1/chat/completions"),
        ("http://[::1]:8000", "http://[::1]:8000/v1/chat/completions"),
    ],
)
def test_the_version_and_the_path_of_a_call_may_stand_there_or_not(given, asked):
    assert parse_address(given).path("chat/completions") == asked


@pytest.mark.parametrize(
    "given",
    [
        "",
        "localhost:8000",
        "ftp://host",
        "http://",
        "http://host:99999",
        "http://a b",
        "http://host:0",
        "http://[x",
    ],
)
def test_what_is_no_address_is_refused_with_one_that_is(given):
    with pytest.raises(InvalidInput, match=r"write it like http://localhost:8000"):
        parse_address(given)


def test_a_password_in_the_address_is_refused_and_not_repeated():
    with pytest.raises(InvalidInput, match="leave it out") as refused:
        parse_address("http://me:hunter2@host/v1")
    assert "hunter2" not in str(refused.value)


def test_a_query_is_refused():
    with pytest.raises(InvalidInput, match="query"):
        parse_address("http://host/v1?key=1")
