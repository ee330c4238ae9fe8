"""Which addresses are valid, which are the same, and which words in links are ours."""

from uuid import uuid4

import pytest

from publisher.mailing.addresses import (
    LinkPurpose,
    address_digest,
    is_word,
    link_word,
    mail_address,
    mailbox_digest,
    subscriber_of,
    without_addresses,
)

KEY = b"k" * 32


@pytest.mark.parametrize("good", ["ada@example.org", " Ada.B+news@mail.example.co.uk ", "a'b@x-y.example"])
def test_addresses_are_taken_as_they_are_typed(good: str) -> None:
    assert mail_address(good) == good.strip()


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "ada",
        "ada@localhost",
        "ada@example.org\r\nBcc: b@b.example",
        "a,b@c.example",
        "<a@b.example>",
        "ä@b.example",
        "a@b..example",
        "a@-b.example",
        "a@" + "b" * 250 + ".example",
        '"a b"@c.example',
    ],
)
def test_what_is_no_address_is_refused(bad: str) -> None:
    assert mail_address(bad) is None


def test_two_spellings_are_one_address_and_brands_cannot_be_compared() -> None:
    assert address_digest(KEY, "acme", "Ada@Example.org") == address_digest(KEY, "acme", "ada@example.org")
    assert address_digest(KEY, "acme", "ada@example.org") != address_digest(KEY, "other", "ada@example.org")
    assert mailbox_digest(KEY, "ada+1@example.org") == mailbox_digest(KEY, "Ada+2@example.org")


def test_a_word_is_good_for_one_purpose_one_subscriber_and_one_sign_up() -> None:
    ada, sign_up = uuid4(), uuid4()
    word = link_word(KEY, LinkPurpose.CONFIRM, ada, sign_up)
    assert subscriber_of(word) == ada
    assert is_word(KEY, word, LinkPurpose.CONFIRM, ada, sign_up)
    assert not is_word(KEY, word, LinkPurpose.LEAVE, ada)
    assert not is_word(KEY, word, LinkPurpose.CONFIRM, ada, uuid4())
    assert not is_word(b"x" * 32, word, LinkPurpose.CONFIRM, ada, sign_up)
    assert [subscriber_of(each) for each in ("", "ä", "x" * 200, word[:-4], "....")] == [None] * 5


def test_what_a_server_says_is_told_without_addresses() -> None:
    told = without_addresses("550 5.1.1 <ada@a.example>: no such user; bob@b.example too")
    assert told == "550 5.1.1 <…>: no such user; … too"
