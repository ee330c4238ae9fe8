"""Logs and stored errors show no secret, and still tell an operator what went wrong."""

import json
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chassis import redaction


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (
            "no answer from amqp://research:s3cret@broker:5672/",
            "no answer from amqp://research:***@broker:5672/",
        ),
        ("amqp://research:a/s3cret#x@broker/ is down", "amqp://research:***@broker/ is down"),
        ("GET https://s3cret@host/x", "GET https://***@host/x"),
        ("/feed?page=2&access_token=s3cret&n=1", "/feed?page=2&access_token=***&n=1"),
        ("https://h/x?key=s3cret.", "https://h/x?key=***"),
        ("Authorization: Bearer s3cret\nHost: h", "Authorization: ***\nHost: h"),
        ("{'Authorization': 'Basic s3cret==', 'Host': 'h'}", "{'Authorization': '***', 'Host': 'h'}"),
        ("Set-Cookie: id=s3cret; Path=/", "Set-Cookie: ***"),
        ("the token (bearer s3cret-and-more) has expired", "the token (bearer ***) has expired"),
        ("X-Service-Key: s3cret", "X-Service-Key: ***"),
        ('{"api_key": "s3cret", "n": 1}', '{"api_key": "***", "n": 1}'),
        ("{'client_secret': b's3cret'}", "{'client_secret': b'***'}"),
        ("PGPASSWORD=s3cret psql", "PGPASSWORD=*** psql"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJzM2NyZXQifQ.s3cret-sig is old", "*** is old"),
        ("-----BEGIN RSA PRIVATE KEY-----\ns3cret\n-----END RSA PRIVATE KEY-----\nend", "***\nend"),
    ],
)
def test_a_secret_is_hidden_by_where_it_stands(told: str, kept: str) -> None:
    assert redaction.text(told) == kept


@pytest.mark.parametrize(
    "told",
    [
        'duplicate key value violates unique constraint "pages_slug"\nDETAIL:  Key (slug)=(tea) already exists.',
        "https://example.org/@someone/posts?page=2",
        "[Errno 111] Connect call failed ('127.0.0.1', 5432)",
        "max_tokens=500: the bearer certificate is no token",
        "Unexpected token: comma at line 3",
        "mail@example.org is no site",
        'File "/opt/app/handlers.py", line 7, in generate',
    ],
)
def test_what_an_operator_needs_stays(told: str) -> None:
    assert redaction.text(told) == told


def test_what_the_process_has_been_told_is_hidden_anywhere() -> None:
    redaction.learn("canary/of-7-bits", "canary/of-7-bits-and-more", "weak", "research")
    said = "a canary/of-7-bits-and-more b canary%2Fof-7-bits c, weak research"
    assert redaction.text(said) == "a *** b *** c, weak research"


def test_headers_are_hidden_by_their_names_however_deep() -> None:
    given = {
        "Authorization": "x",
        "list": [{"api_key": "y", "n": 1}],
        "source": "https://a:b@c",
        "x-death": 3,
    }
    assert redaction.anything(given) == {
        "Authorization": "***",
        "list": [{"api_key": "***", "n": 1}],
        "source": "https://a:***@c",
        "x-death": 3,
    }


_PROGRAM = """
import logging
import structlog
from chassis import redaction
from chassis.observing import logs
logs.configure("test", form={form!r})
redaction.learn("canary-known-7")
log = structlog.get_logger("a")
log.warning("refused", url="amqp://user:canary-url@host/", nested={{"headers": {{"Cookie": "canary-cookie"}}}}, n=1)
logging.getLogger("a.library").error("cannot reach %s", "https://canary-user@host/x?token=canary-query")
try:
    raise RuntimeError("Bearer canary-bearer-1 and canary-known-7")
except RuntimeError:
    log.exception("failed")
    logging.getLogger("a.library").exception("failed")
"""


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_log_line_has_one_whoever_wrote_it(form: str) -> None:
    command = [sys.executable, "-c", _PROGRAM.format(form=form)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert "canary" not in done.stdout + done.stderr
    assert "RuntimeError" in done.stdout
    if form == "json":
        first = json.loads(done.stdout.splitlines()[0])
        assert first["url"] == "amqp://user:***@host/"
        assert first["n"] == 1


@pytest.mark.extended
@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a-",
            "a.",
            "x-",
            "x-key",
            "secret",
            "my-secret-",
            "token=",
            "eyJ-",
            "eyJaaaaaaaaaaa.",
            "://",
            "://a:",
            "://a@",
        ),
        *(
            "http://a:b",
            "bearer ",
            "cookie ",
            "cookie= ",
            "?key",
            "&a-token",
            "-----BEGIN ",
            "'password' : ",
            " ",
            "@",
        ),
    ],
)
def test_long_texts_made_to_be_slow_are_not(piece: str) -> None:
    began = time.process_time()
    redaction.text(piece * (400_000 // len(piece)))
    assert time.process_time() - began < 60


PIECES = st.sampled_from(
    [
        *[
            "Authorization",
            "author\u0131zation",
            "cooKIE",
            "set-cookie",
            "Bearer ",
            "be_0123456789ab_",
            "://",
            "@",
            "eyJ",
        ],
        *[
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "?code=",
            "&s\u0131g=",
            "pa\u017fsword",
            "API_KEY",
        ],
        *[
            "to\u212aen",
            "x-service-key",
            "client_secret",
            ":",
            "=",
            "'",
            '"',
            " ",
            ".",
            "s3cret-and-more",
            "\n",
            "ß",
            "İ",
        ],
    ]
)


@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))
@settings(max_examples=150, deadline=None)
def test_no_rule_is_left_out_that_would_find_something(told: str) -> None:
    by_all_rules = told
    for _, pattern, replacement in redaction._RULES:
        by_all_rules = pattern.sub(replacement, by_all_rules)
    assert redaction.text(told) == by_all_rules
