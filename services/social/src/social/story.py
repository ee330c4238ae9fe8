"""The texts of an article from which its posts are written. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

from social.statements import (
    Statement,
    by_interest,
    for_readers_of_feeds,
    self_contained,
    statements_of,
)
from social.technical import has_code, is_about_programs, is_bare_name, proper_names


@dataclass(frozen=True, slots=True)
class StorySource:
    """A source from which the article quotes."""

    title: str
    author: str | None = None
    licence: str | None = None


@dataclass(frozen=True)
class Story:
    """The cleaned texts of an article for posts; `tags` have their #, the most specific first."""

    title: str
    keyword: str
    description: str
    points: tuple[str, ...]
    tags: tuple[str, ...]
    link: str | None
    opening: str = ""
    """The article's first paragraph."""
    headings: tuple[str, ...] = ()
    sources: tuple[StorySource, ...] = ()
    """Empty if the article does not quote."""
    origins: tuple[int, ...] = ()
    """The number in `sources`, from 1, of the opening and of each point; 0: none."""
    language: str | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Self:
        return cls(
            title=stored["title"],
            keyword=stored["keyword"],
            description=stored["description"],
            points=tuple(stored["points"]),
            tags=tuple(stored["tags"]),
            link=stored["link"],
            opening=stored.get("opening", ""),
            headings=tuple(stored.get("headings", ())),
            sources=tuple(StorySource(**each) for each in stored.get("sources", ())),
            origins=tuple(stored.get("origins", ())),
            language=stored.get("language"),
        )

    # The same for every channel, and slow to compute.

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """What posts can say, in the order of the article.

        A description is in the article's own words only if the article is: that of a quoting one may be cut.
        """
        texts = (self.opening, *self.points)
        given = list(zip(texts, self.origins or [0] * len(texts), strict=False))
        described = (self.description, 0)
        subject = f"{self.keyword} {self.title}"
        if self.sources:
            return statements_of(given, subject)
        return statements_of([described, *given], subject)

    @cached_property
    def hooks(self) -> tuple[Statement, ...]:
        """The statements that can open a post, the one that makes readers look first.

        If an article that quotes begins with what cannot stand alone, none of its sentences was written to be read first. Of a manual,
        only what readers of a feed understand.
        """
        if self.is_manual:
            if self._is_named_by_code:
                return ()
            return for_readers_of_feeds(self._self_contained, self.keyword, self.title, self.proper_names)
        if self._quotes_opening and not any(each.is_opening for each in self.statements):
            return ()
        return by_interest(tuple(self._self_contained), self.keyword, self.title)

    @property
    def _self_contained(self) -> Iterator[Statement]:
        titles = [each.title for each in self.sources]
        return self_contained(self.statements, titles, self.keyword, self.title)

    @cached_property
    def is_manual(self) -> bool:
        """Whether it quotes texts about a program, in English: the rules about manuals know no other language."""
        told = (f"{each.title}, {each.author or ''}" for each in self.sources)
        return (
            bool(self.sources)
            and (self.language or "en").casefold().startswith("en")
            and is_about_programs(
                (self.keyword, self.opening, *self.points, *told),
                (self.title, *self.headings),
            )
        )

    @cached_property
    def proper_names(self) -> frozenset[str]:
        """The names of programs that it speaks of."""
        titles = (self.title, *(each.title for each in self.sources))
        return proper_names((self.opening, *self.points), titles)

    @property
    def why_silent(self) -> str:
        """Why none of its sentences opens a post, for people."""
        if self.is_manual and self._is_named_by_code:
            return "the title is a name inside a program, which tells readers of a feed nothing"
        if self.is_manual:
            return "no sentence of this manual names its subject and tells why it matters, in words that readers of a feed know"
        return "no sentence of the article stands alone"

    @property
    def _is_named_by_code(self) -> bool:
        return has_code(self.title) or is_bare_name(self.title.partition(" (")[0])

    @property
    def _quotes_opening(self) -> bool:
        return bool(self.opening and self.sources and self.origins and self.origins[0])
