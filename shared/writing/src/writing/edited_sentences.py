"""Has a judge read the sentences that people changed, as it reads a model's. It skips those that the rules on words refuse."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from writing.article import ArticleEvidence, ArticleSource
from writing.evidence import RULES
from writing.marked_article import UNSUPPORTED, MarkedBlock, MarkedSentence, ReadSentence
from writing.model.claims.checking import check
from writing.model.claims.comparison import Evidence
from writing.model.claims.pieces import meaningful_keys
from writing.model.claims.wording import normal, tokens_of
from writing.model.copying import SourceRuns
from writing.model.drafting import RejectedSentence, RejectionReason, SupportedSentence, WritingMaterial
from writing.model.judge.judge import Judge
from writing.model.session import ModelSession

MOST_READ: Final = 40
"""Changed sentences of one version that a judge reads; the rules' word on the others stays."""
PASSAGES_A_SENTENCE: Final = 3
_HELD: Final = "held"
_FOUND: Final = frozenset({RejectionReason.CONTRADICTED, RejectionReason.SAYS_MORE, RejectionReason.NOT_SAID})


def sentences_to_read(
    blocks: Sequence[MarkedBlock], evidence: ArticleEvidence, read: Sequence[ReadSentence]
) -> list[MarkedSentence]:
    """Returns the sentences that people changed and that no judge has read, each once."""
    known = {each.text for each in evidence.sentences} | {each.text for each in read}
    found: dict[str, MarkedSentence] = {}
    for block in blocks:
        for each in block.sentences:
            if each.given_by == RULES and each.verdict in {_HELD, UNSUPPORTED} and each.text not in known:
                found.setdefault(each.text, each)
    return list(found.values())[:MOST_READ]


class EditedSentences:
    """The changed sentences of one version, with the passages that each is read beside."""

    def __init__(self, evidence: ArticleEvidence) -> None:
        self._passages = evidence.passages
        self._evidence = {
            name: Evidence(name, " ".join(each.titles[-1:]), each.text)
            for name, each in evidence.passages.items()
        }
        self._keys = {
            name: frozenset(meaningful_keys(tokens_of(normal(f"{each.heading or ''} {each.text}"))))
            for name, each in self._evidence.items()
        }
        sources = {each.n: ArticleSource(each.n, "", ()) for each in evidence.passages.values()}
        self._material = WritingMaterial(
            self._evidence,
            {name: sources[each.n] for name, each in evidence.passages.items()},
            SourceRuns.of(()),
        )

    async def read(
        self,
        sentences: Sequence[MarkedSentence],
        judge: ModelSession,
        *,
        then: ModelSession | None = None,
        room: int,
    ) -> list[ReadSentence]:
        """Asks the judge, and the second one of what the first keeps.

        Args:
            sentences: as `sentences_to_read` returns them.
            judge: of the judging model.
            then: of the second judge.
            room: characters of passages in one question.

        Raises:
            Exception: any error of `ChatModel.complete`.
        """
        second = None if then is None else Judge(then, self._material)
        reader = Judge(judge, self._material, then=second)
        checked = await asyncio.to_thread(lambda: [self._checked(each) for each in sentences])
        # Of what no judge may confirm nothing is asked, so the rules' word stays.
        asked = [each for each in checked if isinstance(each, SupportedSentence) or each.conceivable]
        found: list[ReadSentence] = []
        for number, some in enumerate(self._at_a_time(asked, room), 1):
            name = f"edit {number}"
            found += [
                self._found(each, (then or judge).model if _is_kept(each) else judge.model)
                for each in await reader.read(name, some)
            ]
        return found

    def _checked(self, sentence: MarkedSentence) -> SupportedSentence | RejectedSentence:
        names = sentence.passages[:PASSAGES_A_SENTENCE] or self._nearest(sentence)
        verdict = check(sentence.text, [self._evidence[name] for name in names])
        if verdict.holds:
            return SupportedSentence(sentence.text, sentence.sources, names)
        problem = verdict.problem or ""
        return RejectedSentence(sentence.text, names, problem, verdict.nearest, verdict.conceivable)

    def _nearest(self, sentence: MarkedSentence) -> tuple[str, ...]:
        """Returns the passages that share most words with a sentence; those of its sources, if it cites some."""
        cited = [name for name, each in self._passages.items() if each.n in sentence.sources]
        own = frozenset(meaningful_keys(tokens_of(normal(sentence.text))))
        ranked = sorted(cited or self._passages, key=lambda name: -len(own & self._keys[name]))
        return tuple(ranked[:PASSAGES_A_SENTENCE])

    def _at_a_time(
        self, sentences: Sequence[SupportedSentence | RejectedSentence], room: int
    ) -> Iterator[list[SupportedSentence | RejectedSentence]]:
        some: list[SupportedSentence | RejectedSentence] = []
        names: set[str] = set()
        for each in sentences:
            more = names | set(each.passages)
            if some and sum(len(self._evidence[name].text) for name in more) > room:
                yield some
                some, more = [], set(each.passages)
            some.append(each)
            names = more
        if some:
            yield some

    def _found(self, sentence: SupportedSentence | RejectedSentence, model: str) -> ReadSentence:
        if isinstance(sentence, SupportedSentence):
            verdict = "confirmed" if sentence.confirmed else _HELD
            by = model if sentence.confirmed else RULES
            return ReadSentence(sentence.text, verdict, by, sentence.sources, sentence.passages)
        sources = tuple(sorted({self._passages[name].n for name in sentence.passages}))
        by = model if sentence.reason in _FOUND else RULES
        return ReadSentence(sentence.text, UNSUPPORTED, by, sources, (), sentence.problem, sentence.nearest)


def _is_kept(sentence: SupportedSentence | RejectedSentence) -> bool:
    return isinstance(sentence, SupportedSentence)
