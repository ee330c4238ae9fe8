"""An operator's statements about a folder's documents in `sources.toml`."""

import pytest

from reading.formats import UnreadableFileError
from reading.works import UNSTATED, StatedWork, find_nearest, is_work_file, parse_work


@pytest.mark.parametrize(
    ("text", "work"),
    [
        ("", UNSTATED),
        (
            'work = "The Handbook"\nauthor = "Jane Doe"\nlicence = "CC BY-SA 4.0"\naddress = "https://example.org/h"',
            StatedWork("The Handbook", "Jane Doe", "CC BY-SA 4.0", "https://example.org/h/"),
        ),
        ('quote = "short"', StatedWork(quotable=False)),
        # Without a word about quoting, the licence decides.
        ('licence = "All rights reserved"', StatedWork(licence="All rights reserved", quotable=False)),
        ('licence = "All rights reserved"\nquote = "whole"', StatedWork(licence="All rights reserved")),
    ],
)
def test_statements_are_read(text: str, work: StatedWork) -> None:
    assert parse_work(text.encode()) == work


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("work = ", "it is no TOML: Invalid value"),
        (b"\xff", "it is no TOML in UTF-8"),
        ("a = " + "[" * 15_000, "it is no TOML"),
        ("#" * 20_001, "it is larger than 20,000 bytes"),
        ('autor = "Jane"', "'autor' is no key; it takes address, author, licence, quote, work"),
        ("work = 1", "work is not a text of one line"),
        ('work = "  "', "work is not a text of one line"),
        ('work = "a\\nb"', "work is not a text of one line"),
        (f'work = "{"a" * 301}"', "work is too long"),
        ('quote = "all"', 'quote is neither "whole" nor "short"'),
        *(
            (f'address = "{address}"', "address is not a web address")
            for address in (
                "ftp://example.org",
                "https://me:pw@example.org",
                "example.org",
                "https://[::1",
                "https://",
            )
        ),
        ('address = "https://example.org/?page="', "address has a “?” or “#”"),
    ],
)
def test_mistakes_are_named(text: str | bytes, problem: str) -> None:
    with pytest.raises(UnreadableFileError) as raised:
        parse_work(text if isinstance(text, bytes) else text.encode())
    assert str(raised.value).startswith(problem)


@pytest.mark.parametrize(
    ("path", "nearest"),
    [("a.html", ("", 0)), ("h/a.html", ("h", 1)), ("h/1/2/a.html", ("h", 1)), ("i/a.html", ("", 0))],
)
def test_the_nearest_statements_hold(path: str, nearest: tuple[str, int]) -> None:
    assert find_nearest({"": 0, "h": 1, "h/1/3": 2}, path) == nearest
    assert find_nearest({"i/j": 1}, path) is None


def test_addresses_follow_paths() -> None:
    assert (
        StatedWork(address="https://example.org/h/").url_of("1/a b?.html")
        == "https://example.org/h/1/a%20b%3F.html"
    )
    assert UNSTATED.url_of("a.html") is None


@pytest.mark.parametrize(
    ("path", "is_one"), [("sources.toml", True), ("a/sources.toml", True), ("a/my-sources.toml", False)]
)
def test_the_file_has_one_name(path: str, is_one: bool) -> None:
    assert is_work_file(path) is is_one
