"""Checks the sentences of a draft against their passages. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from documents.instructions import find_instruction
from writing.article import ArticleSource
from writing.extractive.languages import is_foreign
from writing.model.answers import DraftSentence
from writing.model.claims.checking import check
from writing.model.claims.comparison import Evidence
from writing.model.claims.wording import NEGATIONS, normal, sentences_of, tokens_of
from writing.model.copying import LONGEST_QUOTATION, SourceRuns, quotations, unquoted
from writing.model.praise import find_unattributed_praise

MAX_PASSAGE: Final = 4_000
"""Characters of a passage; the rest of a longer one is ignored."""
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
    r"\b(?:an?|the|of|and|or|but|to|into|from|with|by|at|than|as|that|which|who|its?|their|is|are|was|were|because|if)\W*$",
    re.IGNORECASE,
)
"""Words that end no sentence: “It was the first brewer in the.”"""
_SHORT_WORDS: Final = re.compile(r"\b\w{1,2}\b")


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
    """Passages that carry instructions to a model, as `s2p1 (ignore)`."""
    language: str = ""
    """A BCP 47 tag: sentences that are plainly in another language do not stand. Empty: any language."""

    @classmethod
    def of(
        cls, sources: Sequence[ArticleSource], *, max_characters: int, language: str = ""
    ) -> "WritingMaterial":
        """Takes the best passages of each source in turn, up to `max_characters` in total."""
        evidence: dict[str, Evidence] = {}
        source_of: dict[str, ArticleSource] = {}
        set_aside: list[str] = []
        room = max_characters
        offered = [(place, source.n, source) for source in sources for place in range(len(source.passages))]
        for place, n, source in sorted(offered, key=lambda each: (each[0], each[1])):
            passage = source.passages[place]
            name = f"s{n}p{place + 1}"
            form = find_instruction(f"{source.title}\n{passage.heading or ''}\n{passage.text}")
            if form:
                set_aside.append(f"{name} ({form})")
                continue
            text = passage.text[:MAX_PASSAGE]
            if len(text) > room:
                continue
            room -= len(text)
            evidence[name] = Evidence(name, passage.heading, text)
            source_of[name] = source
        copies = SourceRuns.of(passage.text for source in sources for passage in source.passages)
        return cls(evidence, source_of, copies, tuple(set_aside), language)

    def judge(
        self, draft: DraftSentence, offered: frozenset[str], forbidden: Sequence[str]
    ) -> SupportedSentence | RejectedSentence:
        """Supports the draft if it is one clean, uncopied sentence that its cited passages among `offered` support."""
        text = normal(draft.text)
        problem = _unclean(text, forbidden)
        # Words of one or two letters belong to several languages.
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
        verdict = check(text, cited, given=given)
        problem = wrong or verdict.problem
        if problem is not None:
            return RejectedSentence(
                text, draft.passages, problem, verdict.nearest, not wrong and verdict.conceivable
            )
        sources = {self.source_of[each].n for each in verdict.passages}
        return SupportedSentence(text, tuple(sorted(sources)), draft.passages)

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


def _unclean(text: str, forbidden: Sequence[str]) -> str | None:
    if _ADDRESS.search(text) or _MARKUP.search(text):
        return "it has a web address or markup, which is not yours to write"
    if form := find_instruction(text):
        return f"it passes on an instruction ({form})"
    if (words := find_unattributed_praise(text)) is not None:
        return f"it praises (“{words}”) without saying who does: name whose opinion it is, or leave it out"
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


def fits_heading(text: str, kept: Sequence[str], keyword: str) -> bool:
    """Whether a heading or title says no more than the keyword plus one of these sentences."""
    if not is_clean(text):
        return False
    given = frozenset(token.key for token in tokens_of(keyword) if token.weighs)
    own = [token for token in tokens_of(normal(text)) if token.weighs and token.key not in given]
    said = [Evidence("", None, each) for each in kept]
    if check(text, said).holds or check(text, said, given=given).holds:
        return True
    # A name is no statement, but a part of a denying sentence might affirm what the whole denies.
    wanted = [token.key for token in own]
    return any(
        wanted == keys[at : at + len(wanted)]
        for keys in map(_keys, kept)
        if not NEGATIONS & set(keys)
        for at in range(len(keys))
    )


def _keys(sentence: str) -> list[str]:
    return [token.key for token in tokens_of(sentence) if token.weighs]
