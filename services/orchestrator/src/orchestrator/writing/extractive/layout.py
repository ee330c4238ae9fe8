"""The chosen sentences as Markdown: introduction, one section per source, each sentence with its citation. Pure."""

import re
from collections import Counter
from collections.abc import Sequence

from orchestrator.writing.extractive.selection import Unit, key_of
from orchestrator.writing.extractive.sentences import Sentence
from orchestrator.writing.extractive.topic import Topic, comparable, is_label, unnumbered

SHORT_PARAGRAPH = 30
# The part of a section's words that must stand under a heading to name the section.
PREVAILING = 0.7

_GENERIC = frozenset(
    [
        "introduction",
        "overview",
        "description",
        "architecture",
        "summary",
        "background",
        "notes",
        "examples",
        "example",
        "usage",
        "concepts",
        "details",
        "caveats",
        "restrictions",
        "conflicts",
        "security",
        "monitoring",
        "configuration",
        "settings",
        "syntax",
        "parameters",
        "reference",
        "options",
        "general",
        "basics",
        "principles",
        "features",
        "glossary",
        "faq",
        "limitations",
        "quickstart",
    ]
)
_SPECIAL = re.compile(r"([\\`*_\[\]<>&~|{}#$!^])")
_BLOCK_START = re.compile(r"^(\d+)([.)])|^([-+=:])")


def layout(topic: Topic, lead: Unit, chosen: Sequence[Unit]) -> str:
    sections: dict[int, list[Unit]] = {}
    for unit in sorted(chosen[1:], key=key_of):
        sections.setdefault(unit.source.n, []).append(unit)
    blocks = _paragraphs([lead])
    notes: list[Unit] = []
    taken = {comparable(topic.name)}
    for n, units in sections.items():
        if n == lead.source.n and comparable(unnumbered(lead.source.title)) in taken:
            # The page on the keyword itself: its paragraphs continue the introduction.
            blocks[1:1] = _paragraphs(units)
        elif sum(len(unit.sentences) for unit in units) == 1 and len(sections) > 1:
            notes += units
        else:
            heading = _heading(topic, units, taken)
            taken.add(comparable(heading))
            blocks += [f"## {escape(heading)}", *_paragraphs(units)]
    if notes:
        blocks.append(f"## {escape(f'More on {topic.name}')}")
        blocks += [f"- {paragraph}" for unit in notes for paragraph in _paragraphs([unit])]
    return "\n\n".join(blocks) + "\n"


def _heading(topic: Topic, units: Sequence[Unit], taken: set[str]) -> str:
    """The heading that prevails among the units, if it tells something; otherwise the source's title."""
    title = unnumbered(units[0].source.title)
    own = unnumbered(_prevailing(units) or "")
    free = [each for each in (own, title) if each and comparable(each) not in taken]
    telling = [each for each in free if not is_label(each) and comparable(each) not in _GENERIC]
    if telling:
        return telling[0]
    if title in free and comparable(title) not in _GENERIC:
        return title
    return f"{topic.name}: {free[-1].lower()}" if free else f"{topic.name}: source {units[0].source.n}"


def _prevailing(units: Sequence[Unit]) -> str | None:
    """The heading that most of the text stands under."""
    words: Counter[str | None] = Counter()
    for unit in units:
        words[unit.heading] += unit.words
    heading, most = words.most_common(1)[0]
    return heading if most >= PREVAILING * words.total() else None


def _paragraphs(units: Sequence[Unit]) -> list[str]:
    """One paragraph per unit, but short ones under the same heading are put together."""
    groups: list[list[Unit]] = []
    for unit in units:
        previous = groups[-1] if groups else []
        short = unit.words < SHORT_PARAGRAPH or sum(each.words for each in previous) < SHORT_PARAGRAPH
        if previous and short and previous[-1].heading == unit.heading:
            previous.append(unit)
        else:
            groups.append([unit])
    return [
        _paragraph([sentence for unit in group for sentence in unit.sentences], group[0].source.n)
        for group in groups
    ]


def _paragraph(sentences: Sequence[Sentence], n: int) -> str:
    text = " ".join(f"{escape(sentence.text)} [{n}]" for sentence in sentences)
    return _BLOCK_START.sub(lambda match: f"{match[1]}\\{match[2]}" if match[1] else f"\\{match[3]}", text)


def escape(text: str) -> str:
    """Markdown that renders as exactly `text`."""
    return _SPECIAL.sub(r"\\\1", text)
