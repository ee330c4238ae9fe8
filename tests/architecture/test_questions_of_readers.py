"""Each kind of reader finds the answers to their first questions within three clicks of the README.

The questions were written down first; each names the section with its answer, and words that belong to the answer.
"""

from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.architecture.test_links_of_documents import ROOT, links_of

MOST_CLICKS: Final = 3


class Question(NamedTuple):
    reader: str
    text: str
    page: str
    heading: str
    answer: tuple[str, ...]


QUESTIONS: Final = (
    Question(
        "a marketer",
        "Can I try it without paying anybody?",
        "docs/faq.md",
        "Can I run it without a model?",
        ("quotes its sources", "without any account"),
    ),
    Question(
        "a marketer",
        "How do I get articles onto my WordPress?",
        "docs/connect/wordpress.md",
        "From nothing to the first article",
        ("Application Passwords", "brandctl accounts connect wordpress"),
    ),
    Question(
        "a marketer",
        "What does one article cost me?",
        "docs/faq.md",
        "What does one article cost?",
        ("A digest costs nothing", "$0.0288"),
    ),
    Question(
        "a marketer",
        "How do I see what supports a sentence before I approve it?",
        "docs/console.md",
        "Drafts",
        ("passage",),
    ),
    Question(
        "a marketer",
        "Does anything go out that I have not seen?",
        "docs/faq.md",
        "Does it publish without asking me?",
        ("wait for approval by default",),
    ),
    Question(
        "a platform engineer",
        "Which machine does it need, and what does that cost a month?",
        "docs/operations/sizing.md",
        "What it costs a month",
        ("dollars",),
    ),
    Question(
        "a platform engineer",
        "How do I take a backup, and what does a restored one lack?",
        "docs/operations/backup.md",
        "What a restored backup gives back",
        ("backup",),
    ),
    Question(
        "a platform engineer",
        "A message failed: where is it, and how do I send it again?",
        "docs/operations/dead-letters.md",
        "When something goes wrong",
        ("replay",),
    ),
    Question(
        "a platform engineer",
        "What must I do before strangers can reach it?",
        "docs/operations/going-public.md",
        "The door",
        ("TLS",),
    ),
    Question(
        "a platform engineer",
        "Can I go back after an upgrade?",
        "docs/operations/upgrades.md",
        "Rolling back",
        ("Roll back in the reverse order", "Migrations stay"),
    ),
    Question(
        "a Python engineer",
        "What exactly is promised when a process dies?",
        "docs/guarantees.md",
        "What is promised",
        ("killed",),
    ),
    Question(
        "a Python engineer",
        "How do I write a service of my own?",
        "docs/library.md",
        "2. Handlers, in two shapes",
        ("on_batch", "on_each"),
    ),
    Question(
        "a Python engineer",
        "Why not Celery or Temporal?",
        "docs/comparison.md",
        "Libraries for messages and work",
        ("Celery", "Temporal"),
    ),
    Question(
        "a Python engineer",
        "How fast is it, and how was that measured?",
        "docs/performance.md",
        "How it is measured",
        ("round by round", "from commit to commit"),
    ),
    Question(
        "a Python engineer",
        "How do I add a network?",
        "CONTRIBUTING.md",
        "A network",
        ("shared/integrations",),
    ),
)


def section(page: Path, heading: str) -> str:
    """The text below a heading, up to the next one of its level or above."""
    lines = page.read_text().splitlines()
    begin = next(number for number, line in enumerate(lines) if line.lstrip("#").strip() == heading)
    level = len(lines[begin]) - len(lines[begin].lstrip("#"))
    end = next(
        (
            number
            for number, line in enumerate(lines[begin + 1 :], begin + 1)
            if line.startswith("#") and len(line) - len(line.lstrip("#")) <= level
        ),
        len(lines),
    )
    return " ".join(" ".join(lines[begin + 1 : end]).split())


def clicks() -> dict[Path, int]:
    """The number of links from the README to each page."""
    found = {ROOT / "README.md": 0}
    border = [ROOT / "README.md"]
    while border:
        page = border.pop(0)
        for target in links_of(page):
            if target.suffix == ".md" and target not in found:
                found[target] = found[page] + 1
                border.append(target)
    return found


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_a_question_is_answered_within_three_clicks(question: Question) -> None:
    page = ROOT / question.page
    assert clicks()[page] <= MOST_CLICKS
    told = section(page, question.heading)
    assert [words for words in question.answer if words not in told] == []


def test_there_are_five_questions_of_each_reader() -> None:
    readers = [question.reader for question in QUESTIONS]
    assert {reader: readers.count(reader) for reader in readers} == dict.fromkeys(readers, 5)


def test_a_section_ends_at_the_next_heading_of_its_level(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One\n\nfirst\n\n## Two\n\nsecond\n\n### Three\n\nthird\n\n## Four\n\nfourth\n")
    assert section(page, "Two") == "second ### Three third"
    assert section(page, "Four") == "fourth"
    assert "fourth" in section(page, "One")
