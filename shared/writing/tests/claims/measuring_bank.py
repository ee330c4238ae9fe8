"""Measures the rules on the bank of the exam and further ones, with an honest judge, an agreeing one and none.

    python shared/writing/tests/claims/measuring_bank.py            # all halves
    python shared/writing/tests/claims/measuring_bank.py through    # and the lies that get past an agreeing judge
    python shared/writing/tests/claims/measuring_bank.py rules      # what only this rule refuses, for each rule
    python shared/writing/tests/claims/measuring_bank.py refused second_bank    # what a writer has to mend, as JSON
    python shared/writing/tests/claims/measuring_bank.py refused eighth_bank strict    # with the rules for judges without an exam

The honest judge answers what the bank says. The agreeing one finds everything supported, and shows the nearest sentences of
the passages for it, word for word. What does not stand goes back to a writer with the problem and the nearest words, up to three times, as in an article;
the writer's answers are in the bank (`mended`). `refused` prints the questions that are still to be answered.

A judge who agrees to everything does not pass the exam. So it is counted with the strict rules too, which articles get whose judge
has not passed. `strict_wordings.json` has what a writer answered under these rules, for one bank.

The other banks (`second_bank/` and so on) have the form of the exam's. The authors of the second to the fifth and of the eighth did not
read the rules; the author of the sixth and seventh did. Their passages tell of real things, in words of their own; their figures are not vouched for.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final
from unittest.mock import patch

from writing import ArticleSource
from writing.model.answers import DraftSentence
from writing.model.claims import checking
from writing.model.claims.checking import check
from writing.model.claims.comparison import Comparison
from writing.model.claims.rules import RULES
from writing.model.claims.wording import normal, tokens_of
from writing.model.copying import SourceRuns
from writing.model.drafting import RejectedSentence, SupportedSentence, WritingMaterial
from writing.model.exam.bank import ExamItem, Half, read_bank, read_items
from writing.model.judge.findings import apply_reading
from writing.model.judge.question import Claim, Quote, Reading
from writing.model.mending import ROUNDS, problem_of

HALVES: Final[tuple[Half, ...]] = ("development", "blind")
LEARNED_BANKS: Final = ("second_bank", "third_bank", "fourth_bank")
"""Banks from whose sentences the rules have learned, beside the exam's."""
BLIND_BANKS: Final = ("fifth_bank", "sixth_bank", "seventh_bank", "eighth_bank")
MORE_BANKS: Final = (*LEARNED_BANKS, *BLIND_BANKS)
STRICT_WORDINGS: Final = Path(__file__).parent / "strict_wordings.json"
"""By the sentence."""


@dataclass(frozen=True)
class HalfCounts:
    true: int
    lies: int
    first: int
    """True sentences that an honest judge and the rules keep at once; `mended`, in one of the mended wordings as well."""
    mended: int
    agreed: tuple[ExamItem, ...]
    """Lies that stand if a judge agrees to everything; `unjudged`, without a judge."""
    unjudged: tuple[ExamItem, ...]
    true_unjudged: int
    strict: tuple[ExamItem, ...]
    """Lies that stand with the agreeing judge under the strict rules; `strictly_mended`, true sentences with an honest one."""
    strictly_mended: int


def read_folder(name: str) -> tuple[ExamItem, ...]:
    """Returns the items of one of MORE_BANKS."""
    subjects = (each.read_text("utf-8") for each in sorted((Path(__file__).parent / name).glob("*.json")))
    return tuple(item for subject in subjects for item in read_items(subject))


def count(items: Sequence[ExamItem]) -> HalfCounts:
    true = [each for each in items if each.is_true]
    lies = [each for each in items if not each.is_true]
    first = [each for each in true if stands(each, each.sentence, each.reading)]
    mended = [
        each for each in true if each not in first and any(_stands_mended(each, at) for at in each.mended)
    ]
    return HalfCounts(
        len(true),
        len(lies),
        len(first),
        len(first) + len(mended),
        tuple(each for each in lies if stands(each, each.sentence, agreeing(each, each.sentence))),
        tuple(each for each in lies if check(each.sentence, each.cited).holds),
        sum(check(each.sentence, each.cited).holds for each in true),
        tuple(
            each for each in lies if stands(each, each.sentence, agreeing(each, each.sentence), strict=True)
        ),
        sum(
            any(_stands_strictly(each, at) for at in (each.sentence, *strict_wordings(each))) for each in true
        ),
    )


def stands(item: ExamItem, sentence: str, reading: Reading, *, strict: bool = False) -> bool:
    """Whether the rules and this reading keep the sentence."""
    return isinstance(verdict_of(item, sentence, reading, strict=strict), SupportedSentence)


def verdict_of(
    item: ExamItem, sentence: str, reading: Reading, *, strict: bool = False
) -> SupportedSentence | RejectedSentence:
    material = replace(material_of(item), strict=strict)
    draft = DraftSentence(text=sentence, passages=tuple(each.id for each in item.cited))
    judged = material.judge(draft, frozenset(material.evidence), ())
    if isinstance(judged, RejectedSentence) and not judged.conceivable:
        return judged
    return apply_reading(judged, reading, material)


def _stands_mended(item: ExamItem, wording: str) -> bool:
    return stands(item, wording, _shown_again(item, wording))


def _stands_strictly(item: ExamItem, wording: str) -> bool:
    return stands(item, wording, _shown_again(item, wording), strict=True)


def strict_wordings(item: ExamItem) -> tuple[str, ...]:
    """Returns what a writer answered when the strict rules refused this sentence."""
    return _strict_wordings().get(item.sentence, ())


@cache
def _strict_wordings() -> dict[str, tuple[str, ...]]:
    answered: dict[str, list[str]] = json.loads(STRICT_WORDINGS.read_text("utf-8"))
    return {sentence: tuple(wordings) for sentence, wordings in answered.items()}


def unmended(items: Sequence[ExamItem], *, strict: bool = False) -> Iterator[dict[str, object]]:
    """Yields the true sentences that do not stand in any wording, with what their writer is told of the last one."""
    for number, item in enumerate(items):
        if not item.is_true or stands(item, item.sentence, item.reading, strict=strict):
            continue
        mended = strict_wordings(item) if strict else item.mended
        keeps = _stands_strictly if strict else _stands_mended
        if any(keeps(item, each) for each in mended) or len(mended) == ROUNDS:
            continue
        text = mended[-1] if mended else item.sentence
        reading = _shown_again(item, text) if mended else item.reading
        verdict = verdict_of(item, text, reading, strict=strict)
        assert isinstance(verdict, RejectedSentence)
        yield {
            "number": number,
            "text": text,
            "passages": {each.id: each.text for each in item.cited},
            "problem": problem_of(verdict),
            "nearest": verdict.nearest,
        }


def material_of(item: ExamItem) -> WritingMaterial:
    return WritingMaterial(
        {each.id: each for each in item.cited},
        {each.id: ArticleSource(n=at, title="", passages=()) for at, each in enumerate(item.cited, 1)},
        SourceRuns.of(each.text for each in item.cited),
        language="en",
    )


def agreeing(item: ExamItem, sentence: str) -> Reading:
    """Of a judge who confirms everything with the nearest sentences of its passages."""
    return Reading(
        number=1,
        claims=(Claim(says="all of it", quotes=tuple(_nearest(item, sentence))),),
        why="",
        finding="supported",
    )


def _shown_again(item: ExamItem, wording: str) -> Reading:
    """What an honest judge shows for another wording: the same words, and whole sentences around them."""
    shown = agreeing(item, wording).claims
    return item.reading.model_copy(update={"claims": (*item.reading.claims, *shown)})


def _nearest(item: ExamItem, sentence: str) -> Iterator[Quote]:
    for each in Comparison(tokens_of(sentence), item.cited).support[:3]:
        yield Quote(passage=each.passage, words=each.text)


@dataclass(frozen=True)
class Trial:
    """A sentence of an item with the rules that object to it, and whether it would stand if none did."""

    item: ExamItem
    is_first: bool
    """Whether it is the item's own wording, and not a mended one."""
    objecting: frozenset[str]
    stands: bool


@dataclass(frozen=True)
class Worth:
    """What one rule alone refuses: what stands if only this rule is taken away."""

    lies: int
    """With a judge who agrees to everything."""
    first: int
    """True sentences at first, with an honest judge; `mended`, in none of their wordings."""
    mended: int


def trials_of(items: Sequence[ExamItem]) -> list[Trial]:
    """Tries each sentence and each mended wording, without any rule; lies with the agreeing judge."""
    found: list[Trial] = []
    with patch.object(checking, "RULES", {}):
        for each in items:
            reading = each.reading if each.is_true else agreeing(each, each.sentence)
            found.append(
                _trial(each, each.sentence, is_first=True, stands=stands(each, each.sentence, reading))
            )
            found += (
                _trial(each, wording, is_first=False, stands=_stands_mended(each, wording))
                for wording in each.mended
            )
    return found


def _trial(item: ExamItem, wording: str, *, is_first: bool, stands: bool) -> Trial:
    objecting = (
        name for name, rule in RULES.items() if any(rule(Comparison(tokens_of(normal(wording)), item.cited)))
    )
    return Trial(item, is_first, frozenset(objecting), stands)


def worth_of(rule: str, trials: Sequence[Trial]) -> Worth:
    alone = [each for each in trials if each.stands and each.objecting == {rule}]
    kept = {id(each.item) for each in trials if each.stands and not each.objecting}
    return Worth(
        sum(not each.item.is_true for each in alone),
        sum(each.item.is_true and each.is_first for each in alone),
        len({id(each.item) for each in alone if each.item.is_true} - kept),
    )


def main() -> None:
    if sys.argv[1:2] == ["refused"]:
        items = read_folder(sys.argv[2]) if sys.argv[2] in MORE_BANKS else read_bank()
        asked = list(unmended(items, strict="strict" in sys.argv))
        _say(json.dumps(asked, ensure_ascii=False, indent=1))
        return
    if sys.argv[1:2] == ["rules"]:
        tell_worth()
        return
    halves = {half: read_bank(half) for half in HALVES}
    for name, items in {**halves, **{bank: read_folder(bank) for bank in MORE_BANKS}}.items():
        found = count(items)
        _say(f"{name}: {found.true} true sentences, {found.lies} lies")
        _say(
            f"  honest judge keeps {found.first} true at first, {found.mended} after mending ({found.mended / found.true:.1%})"
        )
        _say(f"  agreeing judge lets {len(found.agreed)} lies through ({len(found.agreed) / found.lies:.1%})")
        _say(
            f"  agreeing judge, strict rules: {len(found.strict)} lies ({len(found.strict) / found.lies:.1%}); an honest one keeps"
            f" {found.strictly_mended} true sentences"
        )
        _say(f"  no judge lets {len(found.unjudged)} lies through, and {found.true_unjudged} true at first")
        _say(f"  by kind: {dict(Counter(each.kind for each in found.agreed))}")
        if "through" in sys.argv:
            for each in found.agreed:
                _say(f"    {each.kind}: {each.sentence}")


def tell_worth() -> None:
    """Prints the worth of each rule, on the banks that it was made with and on the blind ones."""
    learned = trials_of([*read_bank(), *(item for name in LEARNED_BANKS for item in read_folder(name))])
    blind = trials_of([item for name in BLIND_BANKS for item in read_folder(name)])
    _say(f"{'':24}{'banks that the rules were made with':>42}{'blind banks':>42}")
    _say(f"{'only this rule refuses':24}" + 2 * f"{'lies':>14}{'true at first':>14}{'after mending':>14}")
    for rule in RULES:
        told = (worth_of(rule, learned), worth_of(rule, blind))
        _say(f"{rule:24}" + "".join(f"{each.lies:>14}{each.first:>14}{each.mended:>14}" for each in told))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
