"""The editing pass: its accepted and its rejected changes. And how often a sentence goes back to be mended."""

from collections.abc import Sequence
from typing import Any

import pytest

from writing.article import ArticleSource, SourcePassage
from writing.model import prompts
from writing.model.answers import DraftSentence
from writing.model.assembly import AssembledParagraph, AssembledSection
from writing.model.claims.comparison import Evidence
from writing.model.drafting import RejectedSentence, RejectionReason, SupportedSentence, WritingMaterial
from writing.model.editing import ArticleEditor
from writing.model.mending import ROUNDS, Mender, Verdict
from writing.model.section_passages import Exhibit
from writing.writer import UnusableModelAnswerError

TEXT = (
    "Cold brew steeps for twelve hours, and it tastes mild. Paper filters leave it clear, if they are rinsed."
    " Metal filters let fine grounds through."
)
MATERIAL = WritingMaterial.of(
    [ArticleSource(1, "Cold brew", (SourcePassage("Cold brew", TEXT, 1.0),))], max_characters=1_000
)
TABLE = Exhibit(1, ("Cold brew",), ("Filter", "Cup"), (("Paper", "clear"), ("Metal", "cloudy")))


def kept(text: str) -> SupportedSentence:
    return SupportedSentence(text, (1,), ("s1p1",))


STEEPS = kept("Cold brew steeps for twelve hours.")
MILD = kept("Cold brew tastes mild.")
CLEAR = kept("Paper filters leave cold brew clear, if they are rinsed.")
METAL = kept("Metal filters let fine grounds through.")
LEADS = SupportedSentence("Now for the filters.", (), ())
SECTIONS = [
    AssembledSection(None, (AssembledParagraph((STEEPS, MILD)),)),
    AssembledSection("Filters", (AssembledParagraph((LEADS, CLEAR, METAL), TABLE),)),
]


class Answering:
    """A session whose model gives these answers in turn."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.steps: list[str] = []

    async def ask(self, step: str, shape: Any, *_: Any, **__: Any) -> Any:
        self.steps.append(step)
        answer = self.answers.pop(0) if self.answers else None
        if answer is None:
            raise UnusableModelAnswerError("no JSON, twice")
        return shape.model_validate(answer)


def edited(*sections: Sequence[Sequence[tuple[str, Sequence[int]]]]) -> dict[str, Any]:
    return {
        "sections": [
            {
                "paragraphs": [
                    {"sentences": [{"text": text, "of": of} for text, of in paragraph]}
                    for paragraph in section
                ]
            }
            for section in sections
        ]
    }


async def edit(answer: dict[str, Any] | None) -> list[list[str]]:
    session: Any = Answering(answer)
    done = await ArticleEditor(session, MATERIAL, None, "cold brew", ()).edit(SECTIONS)
    assert [each.heading for each in done] == [None, "Filters"]
    assert [each.exhibit for section in done for each in section.paragraphs if each.exhibit] == [TABLE]
    assert {n for section in done for each in section.sentences for n in each.sources} == {1}
    return [[each.text for each in section.sentences] for section in done]


FIRST = [[(STEEPS.text, (1,)), (MILD.text, (2,))]]
SECOND = [[(LEADS.text, (3,)), (CLEAR.text, (4,)), (METAL.text, (5,))]]
UNEDITED = [[STEEPS.text, MILD.text], [LEADS.text, CLEAR.text, METAL.text]]


@pytest.mark.parametrize(
    ("answer", "first", "second"),
    [
        (
            edited([[(STEEPS.text, (1,)), ("It tastes mild.", (2,))]], SECOND),
            [STEEPS.text, "It tastes mild."],
            None,
        ),
        (edited([[(MILD.text, (2,)), (STEEPS.text, (1,))]], SECOND), [MILD.text, STEEPS.text], None),
        (
            edited([[("Cold brew steeps for twelve hours, and it tastes mild.", (1, 2))]], SECOND),
            ["Cold brew steeps for twelve hours, and it tastes mild."],
            None,
        ),
        (
            edited(FIRST, [[("What about the filters?", (3,)), (CLEAR.text, (4,)), (METAL.text, (5,))]]),
            None,
            ["What about the filters?", CLEAR.text, METAL.text],
        ),
    ],
    ids=["pronoun", "order", "joined", "leads over"],
)
async def test_an_edit_that_loses_nothing_is_taken(
    answer: dict[str, Any], first: list[str] | None, second: list[str] | None
) -> None:
    assert await edit(answer) == [first or UNEDITED[0], second or UNEDITED[1]]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        edited(FIRST),
        edited([[(STEEPS.text, (1,))]], SECOND),
        edited([[(STEEPS.text, (1,)), (MILD.text, (2,)), (MILD.text, (2,))]], SECOND),
        edited([[(STEEPS.text, (1,)), (MILD.text, (2,)), (METAL.text, (5,))]], SECOND),
        edited([[(STEEPS.text, (1,)), ("Cold brew tastes mild and cures headaches.", (2,))]], SECOND),
        edited([[("Cold brew steeps for hours.", (1,)), (MILD.text, (2,))]], SECOND),
        edited([[("Cold brew tastes mild.", (1, 2))]], SECOND),
        edited([[("It steeps for twelve hours.", (1,)), (MILD.text, (2,))]], SECOND),
        edited([[(STEEPS.text, (1,)), (MILD.text, (2,)), ("Casinos are good.", ())]], SECOND),
        edited(FIRST, [[(LEADS.text, (3,)), ("Paper filters leave cold brew clear.", (4,)), (METAL.text, (5,))]]),
        edited(FIRST, [[("Metal filters are bad.", (3,)), (CLEAR.text, (4,)), (METAL.text, (5,))]]),
        edited(FIRST, [[(LEADS.text, (3,))], [(CLEAR.text, (4,)), (METAL.text, (5,))]]),
        edited(FIRST, [[(CLEAR.text, (4,)), (METAL.text, (5,)), (LEADS.text, (3,))]]),
    ],
    ids=[
        "unusable",
        "a section is missing",
        "a sentence is missing",
        "one stands twice",
        "one of another section",
        "something is added",
        "a number is lost",
        "a sentence is lost in another",
        "a pronoun for nothing",
        "a new sentence",
        "a condition is lost",
        "a transition says something",
        "a paragraph says nothing",
        "a paragraph ends without a citation",
    ],
)  # fmt: skip
async def test_an_edit_that_loses_or_adds_something_is_not_taken(answer: dict[str, Any] | None) -> None:
    assert await edit(answer) == UNEDITED


WRONG = RejectedSentence("Cold brew cures all.", ("s1p1",), "its passages do not say “cures”")


def mender(session: Any) -> Mender:
    async def check(draft: DraftSentence) -> list[Verdict]:
        return [MATERIAL.judge(draft, frozenset(["s1p1"]), ())]

    async def read(_: str, verdicts: Sequence[Verdict]) -> list[Verdict]:
        return list(verdicts)

    return Mender(session, prompts.messages, check, read, 10_000, ROUNDS)


def mended(text: str) -> dict[str, Any]:
    return {"sentences": [{"number": 2, "text": text, "passages": ["s1p1"]}]}


EVIDENCE = list(MATERIAL.evidence.values())


@pytest.mark.parametrize(
    ("answers", "rounds", "text"),
    [
        ([mended(METAL.text)], 1, METAL.text),
        ([mended("Cold brew tastes wild."), mended(METAL.text)], 2, METAL.text),
        (
            [mended(f"Cold brew cures {each}.") for each in ("colds", "fever", "coughs")],
            3,
            "Cold brew cures coughs.",
        ),
        ([mended(WRONG.text)], 1, WRONG.text),
        ([{"sentences": []}], 1, WRONG.text),
        ([None], 1, WRONG.text),
    ],
    ids=["at once", "second try", "three times at most", "the same again", "given up", "unusable"],
)
async def test_a_sentence_goes_back_until_it_holds_or_nothing_new_comes(
    answers: list[Any], rounds: int, text: str
) -> None:
    session = Answering(*answers, *[mended(METAL.text)] * 3)

    done = await mender(session).mend("section 1", [STEEPS, WRONG], EVIDENCE, [])

    assert len(session.steps) == rounds
    assert session.steps[:2] == ["section 1.mend", "section 1.mend.2"][: len(session.steps)]
    assert [each.text for each in done] == [STEEPS.text, text]


async def test_the_writer_is_told_what_really_blocked_with_the_words_of_the_passage() -> None:
    told: list[Any] = []

    def tell(_: str, **data: Any) -> tuple[dict[str, str], ...]:
        told.extend(data["sentences"])
        return ()

    unproven = RejectedSentence(
        "The drink is mild.", ("s1p1",), "its passages do not say “drink”", reason=RejectionReason.UNPROVEN
    )
    session: Any = Answering({"sentences": []})
    of_one = mender(session)
    by_hand = Mender(session, tell, of_one.check, of_one.read, 10_000, ROUNDS)

    await by_hand.mend("section 1", [unproven], [Evidence("s1p1", None, TEXT)], [])

    assert told == [
        {
            "number": 1,
            "text": unproven.text,
            "passages": ("s1p1",),
            "problem": "a second reader could not show the words of its passages that say it",
            "nearest": "Cold brew steeps for twelve hours, and it tastes mild.",
        }
    ]
