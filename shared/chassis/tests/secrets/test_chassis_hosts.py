"""Addresses that people give: taken where every program reads the same host in them, refused with a sentence otherwise."""

import pytest
from pydantic import TypeAdapter, ValidationError

from chassis import WebAddress
from chassis.hosts import is_host

ADDRESS: TypeAdapter[str] = TypeAdapter(WebAddress)


@pytest.mark.parametrize(
    "host",
    [
        "example.org",
        "Example.ORG.",
        "127.0.0.1",
        "1.example",
        "0x7f.example",
        "::1",
        "2001:db8::1",
        "a_service",
        "xn--mnchen-3ya.example",
        "münchen.example",
        "例え.テスト",
    ],
)
def test_a_host_that_all_read_alike_is_taken(host: str) -> None:
    assert is_host(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        ".",
        "①②⑦.0.0.1",
        "\uff11\uff12\uff17.0.0.1",
        "١٢٧.0.0.1",
        "ⓔxample.org",
        "\uff45xample.org",
        "example。org",
        "exam\u200dple.org",
        "☕.example",
        "-example.org",
        "a..b",
        "x" * 64,
        "fe80::1%eth0",
        "fe80::g",
        "example.org:80",
        "a,b",
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "127.0.0.1.",
        "256.0.0.1",
        "1.2.3.4.5",
        "example.0x",
    ],
)
def test_a_host_that_some_read_otherwise_is_none(host: str) -> None:
    assert not is_host(host)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("https://①②⑦.0.0.1/", "has a host that not every program reads alike"),
        ("https://a..b/", "has 'a..b' as its host, which is none; write a name of 1 to 63"),
        ("https://0x7f.1/", "has '0x7f.1' as its host, which is none"),
        ("https://" + "x" * 64 + ".org/", "as its host, which is none"),
        ("https://ex\nample.org", "has spaces, control characters or backslashes"),
        ("https://example.org\\@evil.example", "has spaces, control characters or backslashes"),
        ("https://user@example.org", "names a user or a password"),
        ("https://example.org:0", "is no web address"),
        ("https://example.org:99999", "is no web address"),
        ("https://example.org:\uff18\uff10", "is no web address"),
        ("https://[::1", "is no web address"),
        ("https://example.org/" + "x" * 2000, "is longer than 2,000 characters"),
    ],
)
def test_an_address_that_cannot_be_asked_is_refused_with_a_sentence(address: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ADDRESS.validate_python(address)


def test_an_address_is_taken_without_the_slash_at_its_end() -> None:
    assert ADDRESS.validate_python("http://127.0.0.1:8000/news/") == "http://127.0.0.1:8000/news"
