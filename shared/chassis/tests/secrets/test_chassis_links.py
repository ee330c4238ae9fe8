"""Links of strangers: the allowed targets on a public page."""

import pytest

from chassis.links import public_link


@pytest.mark.parametrize(
    ("given", "link"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("HTTP://EXAMPLE.ORG", "HTTP://EXAMPLE.ORG"),
        ("https://example.org/\u00e4", "https://example.org/\u00e4"),
        ("https://user:secret@example.org:8443/a", "https://example.org:8443/a"),
        ("https://example.org@evil.example/", "https://evil.example/"),
        ("https://example.org\\@evil.example/", None),
        ("javascript:alert(1)", None),
        ("java\nscript:alert(1)", None),
        ("https://example.org/\t", None),
        ("https://example.org/a b", None),
        ("https://example.org/\u2028", None),
        ("https://example.org:0/", None),
        ("https://example.org:99999/", None),
        ("data:text/html,x", None),
        ("//example.org/a", None),
        ("https://", None),
        ("http://[::1", None),
        ("", None),
        (None, None),
    ],
)
def test_a_link_leads_to_one_host_of_the_web_and_names_no_user(given: str | None, link: str | None) -> None:
    assert public_link(given) == link
