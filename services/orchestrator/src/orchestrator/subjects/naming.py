"""Names the subject of each keyword of a brand: by its key, and by people's joins and splits. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.subjects.keys import SubjectKey, key_of, own_key_of, spelling_of


@dataclass(frozen=True, slots=True)
class SubjectSplit:
    """A decision that gives this spelling its own subject."""

    keyword: str


@dataclass(frozen=True, slots=True)
class SubjectJoin:
    """A decision that the subject of `keyword` is that of `other`."""

    keyword: str
    other: str
    includes_own: bool = False
    """True if it also joins the subject of this spelling alone."""


@dataclass(frozen=True, slots=True)
class SubjectNames:
    """The subjects of one brand."""

    language: str
    splits: frozenset[str] = frozenset()
    """Spellings with their own subjects."""
    joins: dict[SubjectKey, SubjectJoin] = field(default_factory=dict)

    @classmethod
    def of(
        cls, language: str, splits: Iterable[SubjectSplit], joins: Iterable[SubjectJoin]
    ) -> "SubjectNames":
        """Builds the names from decisions in the order of time; a later join of the same subject replaces an earlier one."""
        names = cls(language, frozenset(spelling_of(each.keyword) for each in splits))
        for each in joins:
            names.joins[names.plain_key(each.keyword)] = each
            if each.includes_own:
                names.joins[own_key_of(each.keyword)] = each
        return names

    def plain_key(self, keyword: str, *, is_distinct: bool = False) -> SubjectKey:
        """Returns the key without joins."""
        if is_distinct or spelling_of(keyword) in self.splits:
            return own_key_of(keyword)
        return key_of(keyword, self.language)

    def key(self, keyword: str, *, is_distinct: bool = False) -> SubjectKey:
        """Returns the key of the keyword's subject; one submitted as distinct has its own."""
        return self._followed(keyword, is_distinct=is_distinct)[0]

    def last_name(self, keyword: str) -> str:
        """Returns the keyword that names its subject in the end: the `other` of its last join, or itself."""
        return self._followed(keyword)[1]

    def _followed(self, keyword: str, *, is_distinct: bool = False) -> tuple[SubjectKey, str]:
        passed = {self.plain_key(keyword, is_distinct=is_distinct): keyword}
        key = next(iter(passed))
        while (join := self.joins.get(key)) is not None:
            key = self.plain_key(join.other)
            if key in passed:
                # New rules have made joins circular. Every entry point leaves the circle at the same place.
                circle = list(passed)[list(passed).index(key) :]
                return min(circle), passed[min(circle)]
            passed[key] = join.other
        return key, passed[key]
