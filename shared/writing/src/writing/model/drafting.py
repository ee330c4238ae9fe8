"""Checks the sentences of a draft against their passages. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import Final

from documents.instructions import find_instruction
from writing.article import ArticleSource
from writing.extractive.languages import is_foreign, language_of
from writing.model.answers import DraftSentence
from writing.model.claims.checking import check
from writing.model.claims.comparison import Evidence
from writing.model.claims.wording import normal, sentences_of, tokens_of
from writing.model.copying import LONGEST_QUOTATION, SourceRuns, quotations, unquoted
from writing.model.praise import find_unattributed_praise
from writing.model.promotion import without_promotion
from writing.model.section_passages import Exhibit, exhibits_of, passages_of
from writing.quality.likeness import SOURCE_RUN, Runs, runs

MAX_PASSAGE: Final = 4_000
"""Characters of a passage; the rest of a longer one is ignored."""
SECTION_SHARE: Final = 2 / 3
"""The part of the room that sections about the keyword take before the passages of other sources."""
DOUBLE: Final = 0.8
"""A passage with this share of its runs of words in its source's section adds nothing."""
LONGEST_TERM: Final = 4
"""The most words of a term in quotation marks, such as “first bad commit”."""
_ADDRESS: Final = re.compile(
    r"https?:|www\.|\b[\w-]+\.(?:com|org|net|io|dev|info|biz|co|ai|app|xyz|ru|cn|de|uk|eu)\b|\b\S+@\S+\.\S+",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(
    r"[<>{}\[\]`|\\]|\*\*|__|^\s*(?:[-*+#>]|\d+[.)])\s|&(?:#\d+|#x[\da-f]+|\w+);", re.IGNORECASE
)
_ENDS: Final = re.compile(r"[.!][\"”’)]*$")  # noqa: RUF001
_BREAKS_OFF: Final = re.compile(
    r"\b(?:an?|the|and|or|but|into|than|because|if|its|their|(?:in|on|at|of|by|to|for|with) (?:the|an?|its|their))\W*$",
    re.IGNORECASE,
)
"""Words that end no sentence: “It was the first brewer in the.”"""
_SHORT_WORDS: Final = re.compile(r"\b\w{1,2}\b")
"""They belong to several languages."""
_CODE: Final = re.compile(r"`[^`\n]*`")
_SAMPLE: Final = 20_000
"""Characters of a source by which its language is known."""


class RejectionReason(StrEnum):
    """The rule or finding that rejected a sentence."""

    WORDS = "words"
    """Rules: it is unclean or copied, or its passages lack its words."""
    CONTRADICTED = "contradicted"
    """Judge (as for the following reasons): its passages say otherwise."""
    SAYS_MORE = "says_more"
    NOT_SAID = "not_said"
    UNPROVEN = "unproven"
    """The judge confirmed it, but with words that its passages do not have."""
    UNREAD = "unread"
    """The rules reject it, and the judge gave no finding."""


@dataclass(frozen=True, slots=True)
class SupportedSentence:
    """A sentence that its passages support, with the numbers of their sources."""

    text: str
    sources: tuple[int, ...]
    passages: tuple[str, ...]
    """Ids of the passages that it cites."""
    confirmed: bool = False
    """True if only the judge supports it."""


@dataclass(frozen=True, slots=True)
class RejectedSentence:
    text: str
    passages: tuple[str, ...]
    problem: str
    nearest: str = ""
    """What its passages say instead, if known."""
    conceivable: bool = False
    """True if its passages may say it in other words, so that the judge may confirm it."""
    reason: RejectionReason = RejectionReason.WORDS
    loss: str = ""
    """The problem without the model's words; empty if the model added none."""


@dataclass(frozen=True, slots=True)
class WritingMaterial:
    """The passages that a model may use, by id."""

    evidence: Mapping[str, Evidence]
    source_of: Mapping[str, ArticleSource]
    copies: SourceRuns
    set_aside: tuple[str, ...] = field(default=())
    """Passages that carry instructions to a model, as `s2p1 (ignore)`, or are in another language than their source."""
    titles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The headings over each passage, the page's first."""
    exhibits: Mapping[str, Exhibit] = field(default_factory=dict)
    """Tables, lists and listings that the article may print whole, by id."""
    language: str = ""
    """A BCP 47 tag: sentences that are plainly in another language do not stand. Empty: any language."""
    strict: bool = False
    """Whether sentences must keep to the words of their passages, since no judge has passed its exam."""

    @classmethod
    def of(
        cls,
        sources: Sequence[ArticleSource],
        *,
        max_characters: int,
        language: str = "",
        strict: bool = False,
    ) -> "WritingMaterial":
        """Takes what fits into `max_characters`.

        First come the sections about the keyword, in their order, up to a share of the room; then the best passages of
        each source in turn; then the rest of the sections.
        """
        evidence: dict[str, Evidence] = {}
        source_of: dict[str, ArticleSource] = {}
        titles: dict[str, tuple[str, ...]] = {}
        set_aside: list[str] = []
        sections, passages = _section_passages(sources), _best_passages(sources)
        said: dict[int, Runs] = {}
        room = max_characters
        languages = _languages((*sections, *passages))
        for offered in _in_turn(sections, passages, max_characters):
            name, source = offered.name, offered.source
            text = _without_foreign_paragraphs(offered.text, languages[source.n])
            form = find_instruction("\n".join((source.title, *offered.titles, offered.text)))
            if not form and text != offered.text:
                form = "another language" if not text else ""
                set_aside += [] if form else [f"{name} (another language in part)"]
            if form or not text:
                set_aside.append(f"{name} ({form or 'promotion'})")
                continue
            own, known = runs(text, SOURCE_RUN), said.get(source.n, frozenset())
            if len(text) > room or len(own & known) >= DOUBLE * len(own):
                continue
            said[source.n] = known | own
            room -= len(text)
            evidence[name] = Evidence(name, offered.titles[-1] if offered.titles else None, text)
            source_of[name] = source
            titles[name] = offered.titles
        copies = SourceRuns.of(
            (
                *(passage.text for each in sources for passage in each.passages),
                *(each.text for each in sections),
            )
        )
        return cls(
            evidence, source_of, copies, tuple(set_aside), titles, _exhibits(sources), language, strict
        )

    def judge(
        self, draft: DraftSentence, offered: frozenset[str], forbidden: Sequence[str]
    ) -> SupportedSentence | RejectedSentence:
        """Supports the draft if it is one clean, uncopied sentence that its cited passages among `offered` support."""
        text = normal(draft.text)
        problem = _unclean(text, forbidden)
        praise = find_unattributed_praise(text, self._said_by(draft.passages))
        if problem is None and praise is not None:
            problem = (
                f"it praises (“{praise}”) without saying who does: name whose opinion it is, or leave it out"
            )
        if problem is None and self.language and is_foreign(_SHORT_WORDS.sub("", text), self.language):
            problem = "it is in another language than the article"
        if problem is None and not draft.passages:
            problem = "it cites no passage"
        unknown = [each for each in draft.passages if each not in offered]
        if problem is None and unknown:
            problem = f"it cites {', '.join(unknown)}, which is none of the passages of this section"
        if problem is None and (run := self.copies.find_copied_run(text)):
            problem = f"it copies more than 12 words in a row: “{run} …”"
        if problem is not None:
            return RejectedSentence(text, draft.passages, problem)
        cited = [self.evidence[each] for each in dict.fromkeys(draft.passages)]
        given, wrong = self._quoted(text, cited)
        verdict = check(text, cited, given=given, strict=self.strict)
        problem = wrong or verdict.problem
        if problem is not None:
            return RejectedSentence(
                text, draft.passages, problem, verdict.nearest, not wrong and verdict.conceivable
            )
        sources = {self.source_of[each].n for each in verdict.passages}
        return SupportedSentence(text, tuple(sorted(sources)), draft.passages)

    def _said_by(self, names: Sequence[str]) -> str:
        """Returns the titles and texts of passages."""
        return " ".join(
            f"{self.source_of[name].title} {self.evidence[name].text}"
            for name in names
            if name in self.evidence
        )

    def _is_term(self, words: str, cited: Sequence[Evidence]) -> bool:
        """Whether a passage itself has these words in quotation marks, as a name and not as a statement."""
        said = normal(words).strip(" .,;")
        return len(said.split()) <= LONGEST_TERM and any(
            said in map(normal, quotations(evidence.text)) for evidence in cited
        )

    def _quoted(self, text: str, cited: Sequence[Evidence]) -> tuple[frozenset[str], str | None]:
        """Checks that a quotation is short, is verbatim and names its source; returns the allowed words, or the problem."""
        quoted = [each for each in quotations(text) if not self._is_term(each, cited)]
        if not quoted:
            return frozenset(), None
        titles = {
            token.key for each in cited for token in tokens_of(self.source_of[each.id].title) if token.weighs
        }
        attributing = titles | {token.key for token in tokens_of("according says writes notes states")}
        for each in quoted:
            if len(each.split()) > LONGEST_QUOTATION:
                return frozenset(), f"a quotation has more than {LONGEST_QUOTATION} words"
            if not any(normal(each).strip(" .,;") in normal(evidence.text) for evidence in cited):
                return frozenset(), "its quotation does not stand so in its passage"
        outside = {token.key for stretch in unquoted(text) for token in tokens_of(stretch)}
        if not outside & titles:
            return frozenset(), "a quotation has to name its source by the source's title"
        return frozenset(attributing), None


@dataclass(frozen=True, slots=True, eq=False)
class _OfferedPassage:
    name: str
    source: ArticleSource
    titles: tuple[str, ...]
    text: str


def _in_turn(
    sections: Sequence[_OfferedPassage], passages: Sequence[_OfferedPassage], max_characters: int
) -> list[_OfferedPassage]:
    lengths = accumulate(len(each.text) for each in sections)
    share = SECTION_SHARE * max_characters
    first = sum(length <= share for length in lengths)
    return [*sections[:first], *passages, *sections[first:]]


def _section_passages(sources: Sequence[ArticleSource]) -> list[_OfferedPassage]:
    """Returns the passages of all sections: of the source that is most about the keyword first, in reading order."""
    return [
        _OfferedPassage(f"s{source.n}p{place}", source, passage.titles, passage.text)
        for source in sorted(sources, key=lambda each: (-each.about, each.n))
        if source.section is not None
        for place, passage in enumerate(
            passages_of(source.section, source.titles_above), len(source.passages) + 1
        )
    ]


def _best_passages(sources: Sequence[ArticleSource]) -> list[_OfferedPassage]:
    """Returns what research found by its words: the best passage of each source, then the second of each, and so on."""
    return [
        _OfferedPassage(
            f"s{source.n}p{place + 1}",
            source,
            tuple(filter(None, (source.passages[place].heading,))),
            without_promotion(source.passages[place].text)[:MAX_PASSAGE],
        )
        for place in range(max((len(each.passages) for each in sources), default=0))
        for source in sorted(sources, key=lambda each: each.n)
        if place < len(source.passages)
    ]


def _languages(offered: Sequence[_OfferedPassage]) -> dict[int, str]:
    """Returns the language in which each source is written for the most part, by its number."""
    texts: dict[int, list[str]] = {}
    for each in offered:
        texts.setdefault(each.source.n, []).append(each.text)
    return {n: language_of("\n".join(some)[:_SAMPLE]) for n, some in texts.items()}


def _without_foreign_paragraphs(text: str, language: str) -> str:
    """Leaves out paragraphs in another language than their source, in which it could speak to a model unseen.

    Quotations and code in a paragraph may be in any language.
    """
    if not language:
        return text
    return "\n\n".join(
        each
        for each in text.split("\n\n")
        if not is_foreign(_SHORT_WORDS.sub("", " ".join(unquoted(_CODE.sub("", each)))), language)
    )


def _exhibits(sources: Sequence[ArticleSource]) -> dict[str, Exhibit]:
    """Returns the clean exhibits of the sources that may be quoted at length, by id."""
    return {
        f"s{source.n}t{number}": exhibit
        for source in sources
        if source.quotable and source.section is not None
        for number, exhibit in enumerate(exhibits_of(source.n, source.section, source.titles_above), 1)
        if _may_be_printed(exhibit)
    }


def _may_be_printed(exhibit: Exhibit) -> bool:
    """Whether nothing in it speaks to a model, and its words praise nothing and have no address or markup, as code may have."""
    whole = " ".join(exhibit.texts)
    if exhibit.lines:
        return not find_instruction(whole)
    return all(is_clean(text) and not find_unattributed_praise(text, whole) for text in exhibit.texts)


def _unclean(text: str, forbidden: Sequence[str]) -> str | None:
    if _ADDRESS.search(text) or _MARKUP.search(text):
        return "it has a web address or markup, which the text of an article has none of"
    if form := find_instruction(text):
        return f"it passes on an instruction ({form})"
    if not _ENDS.search(text) or _BREAKS_OFF.search(text):
        return "it is no whole sentence"
    if len(sentences_of(text)) > 1:
        return "it is more than one sentence"
    said = text.casefold()
    found = [word for word in forbidden if re.search(rf"(?<!\w){re.escape(word.casefold())}(?!\w)", said)]
    return f"it has {', '.join(found)}, which this brand does not use" if found else None


def is_clean(text: str) -> bool:
    """Whether the text has no address, no markup and no instruction to a model."""
    return not (_ADDRESS.search(text) or _MARKUP.search(text) or find_instruction(text))
