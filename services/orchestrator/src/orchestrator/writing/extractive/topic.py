"""The keyword as a matcher: which sentences are on it, define it, or are headed by it. Pure."""

import re
from collections.abc import Sequence

from orchestrator.writing.article import Source
from orchestrator.writing.extractive.sentences import stems_of, words_of

COMMON_STEMS = frozenset(
    stems_of(
        "a an the of to in is are was were be been and or not for with by on at from as that which can may must will "
        "has have had do does it its than if when but you your more most one no this these how what why who up out"
    )
)
_IS = frozenset({"is", "are", "means", "refers"})
_ARTICLES = frozenset({"a", "an", "the", "to", "one", "any"})
_DOES = frozenset(
    "provides provide allows allow lets let uses use supports support consists describes enables enable".split()  # noqa: SIM905
)
# Option names, signatures, SQL clauses: labels, not headings one would read.
_LABEL_LIKE = re.compile(r"[(\[{=_]|--|^\W|^[a-z]|^[A-Z]+$|^\S*\d\S*$")
_NUMBERING = re.compile(
    r"^(?:(?:chapter|appendix|part|section)\s+)?(?:[A-Z]\.)?(?:\d+|[A-Z])(?:\.\d+)*\.\s+|^(?:chapter|part)\s+[\dIVXL]+[:.]\s+",
    re.IGNORECASE,
)


class Topic:
    """The keyword as a matcher."""

    def __init__(self, keyword: str, sources: Sequence[Source]) -> None:
        self.keyword = keyword
        self.stems = stems_of(keyword)
        self._telling = frozenset(self.stems) - COMMON_STEMS or frozenset(self.stems)
        spelled = r"[\W_]+".join(map(re.escape, words_of(keyword))) or r"(?!)"
        self._spelling = re.compile(spelled, re.IGNORECASE)
        # One or many of them: "index-only scans" is about an index-only scan.
        inflected = rf"(?i:{re.sub('e?s$', '', spelled)})(?:s|es)?(?: \([^)]*\))?"
        self._opens = re.compile(
            rf"(?:An? |The )?{inflected}"
            r"(?:,| (?:can|may|must|will|has|have|does|do|works?|requires?|behaves?|happens?|typically|usually|often)\b)"
        )
        # "Pour-over is a method" says what pour-over coffee is.
        shortened = r"[\W_]+".join(map(re.escape, words_of(keyword)[:-1])) or r"(?!)"
        self._opens_in_short = re.compile(
            rf"(?:An? |The )?(?i:{shortened})(?: \([^)]*\))? (?:is|are) (?:an?|the)\b"
        )
        self._explained = re.compile(rf"{inflected},? (?:which|whose)\b")
        self._abbreviation = self._introduced_abbreviation(spelled, sources)
        self.name = self._spelled_name(sources)

    def _introduced_abbreviation(self, spelled: str, sources: Sequence[Source]) -> re.Pattern[str] | None:
        """The short name that a source introduces, as in "Write-Ahead Logging (WAL)"."""
        initials = "".join(word[0] for word in words_of(self.keyword)).upper()
        introduction = re.compile(rf"(?i:{spelled})\s*\({re.escape(initials)}\)")
        texts = (text for source in sources for text in (source.title, *(p.text for p in source.passages)))
        if len(initials) < 2 or not any(introduction.search(text) for text in texts):  # noqa: PLR2004
            return None
        return re.compile(rf"\b{re.escape(initials)}\b")

    def _spelled_name(self, sources: Sequence[Source]) -> str:
        """The keyword as the sources spell it ("write-ahead logging" → "Write-Ahead Logging")."""
        headings = (
            text
            for source in sources
            for text in (source.title, *(p.heading for p in source.passages))
            if text
        )
        for text in headings:
            match = self._spelling.search(clean(text))
            # "ROW LEVEL SECURITY" is a command, not a name; "JSON" is one.
            shouted = match is not None and match[0].isupper() and " " in match[0]
            if match and match[0][0].isupper() and not shouted:
                return match[0]
        return self.keyword[:1].upper() + self.keyword[1:]

    def share(self, text: str) -> float:
        """Part (0..1) of the keyword's telling words that occur."""
        if self._abbreviation and self._abbreviation.search(text):
            return 1.0
        found = self._telling.intersection(stems_of(text))
        return len(found) / len(self._telling) if self._telling else 0.0

    def has_phrase(self, text: str) -> bool:
        if self._abbreviation and self._abbreviation.search(text):
            return True
        return self._find(stems_of(text)) is not None

    def named_by(self, heading: str | None) -> float:
        """0 if the heading lacks a word of the keyword; otherwise the more, the less else it has (up to 1)."""
        if heading is None or self.share(heading) < 1:
            return 0.0
        words = [word for word in words_of(comparable(unnumbered(heading))) if word not in COMMON_STEMS]
        return min(1.0, 0.4 + 0.6 * len(self._telling) / max(len(words), 1))

    def _find(self, stems: tuple[str, ...]) -> int | None:
        size = len(self.stems)
        return next((at for at in range(len(stems) - size + 1) if stems[at : at + size] == self.stems), None)

    def definition(self, text: str) -> float:
        """How much a sentence defines the keyword, from 0 to 3.

        3 "X is a …", 2 "… called X" and "… X, which …", 1 "X provides …", a little less any other sentence with X
        for its subject.
        """
        words = words_of(text)
        at = self._find(stems_of(text))
        if at is None or not self.stems:
            return 1.8 if self._opens_in_short.match(text) else 0.0
        opening = words[:at]
        after = words[at + len(self.stems) :]
        if not opening or opening in (("a",), ("an",), ("the",)):
            for distance, word in enumerate(after[:3]):
                following = after[distance + 1 : distance + 2]
                if word in _IS and following != ("not",):
                    return 3.0 if following and following[0] in _ARTICLES else 1.5
                if word in _DOES:
                    return 1.0
            if self._opens.match(text):
                return 0.8
        introduced = opening[-1:] in (("called",), ("named",), ("termed",)) or opening[-2:] in (
            ("known", "as"),
            ("to", "as"),
        )
        return 2.0 if introduced or self._explained.search(text) else 0.0


def clean(text: str) -> str:
    return " ".join(text.replace("\0", "").split())


def is_label(heading: str | None) -> bool:
    """Whether a heading only labels what stands under it, as "--jobs=n" or "work_mem (integer)" does."""
    return heading is not None and _LABEL_LIKE.search(heading) is not None


def unnumbered(heading: str) -> str:
    heading = clean(heading)
    return _NUMBERING.sub("", heading) or heading


def comparable(heading: str) -> str:
    return " ".join(words_of(re.sub(r"\([^)]*\)", "", heading)))
