"""Which subject each keyword of a brand names: by its key, and by what a person has said of it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.subjects.keys import SubjectKey, key_of, own_key_of, spelling_of


@dataclass(frozen=True, slots=True)
class Split:
    """This spelling has a subject to itself."""

    keyword: str


@dataclass(frozen=True, slots=True)
class Join:
    """What is of this keyword's subject is of the subject of `other`."""

    keyword: str
    other: str
    includes_own: bool = False
    """The subject that this spelling alone had as well."""


@dataclass(frozen=True, slots=True)
class SubjectNames:
    """The subjects of one brand."""

    language: str
    splits: frozenset[str] = frozenset()
    """Spellings."""
    joins: dict[SubjectKey, Join] = field(default_factory=dict)

    @classmethod
    def of(cls, language: str, splits: Iterable[Split], joins: Iterable[Join]) -> "SubjectNames":
        """Later joins of what an earlier one has joined count."""
        names = cls(language, frozenset(spelling_of(each.keyword) for each in splits))
        for each in joins:
            names.joins[names.plain_key(each.keyword)] = each
            if each.includes_own:
                names.joins[own_key_of(each.keyword)] = each
        return names

    def plain_key(self, keyword: str, *, is_distinct: bool = False) -> SubjectKey:
        """Without regard to joins."""
        if is_distinct or spelling_of(keyword) in self.splits:
            return own_key_of(keyword)
        return key_of(keyword, self.language)

    def key(self, keyword: str, *, is_distinct: bool = False) -> SubjectKey:
        """The key of the keyword's subject; one handed in as distinct has one to itself."""
        return self._followed(keyword, is_distinct=is_distinct)[0]

    def last_name(self, keyword: str) -> str:
        """The keyword by which its subject is known in the end: the `other` of its last join, or itself."""
        return self._followed(keyword)[1]

    def _followed(self, keyword: str, *, is_distinct: bool = False) -> tuple[SubjectKey, str]:
        passed = {self.plain_key(keyword, is_distinct=is_distinct): keyword}
        key = next(iter(passed))
        while (join := self.joins.get(key)) is not None:
            key = self.plain_key(join.other)
            if key in passed:
                # New rules have made a circle of joins. Whoever comes in anywhere gets out at the same place.
                circle = list(passed)[list(passed).index(key) :]
                return min(circle), passed[min(circle)]
            passed[key] = join.other
        return key, passed[key]
