"""The exam of a judge: which sentences it asks about, in which questions, and what answers are worth."""

from collections import Counter
from dataclasses import replace

import pytest

from writing.model.exam.bank import TRUE, ExamItem, read_bank
from writing.model.exam.grading import grade
from writing.model.exam.questions import A_QUESTION, exam_questions, exam_size
from writing.model.exam.selection import EACH, choose_sentences
from writing.model.judge.question import Reading

CHOSEN = choose_sentences(read_bank())


def test_every_subject_and_every_kind_of_lie_has_its_share() -> None:
    lies = Counter(each.kind for each in CHOSEN if not each.is_true)
    true = Counter(each.subject for each in CHOSEN if each.is_true)
    bank = read_bank()
    assert (lies.total(), true.total()) == (EACH, EACH)
    assert set(lies) == {each.kind for each in bank if not each.is_true}
    assert max(lies.values()) - min(lies.values()) <= 1
    assert set(true) == {each.subject for each in bank}
    assert max(true.values()) - min(true.values()) <= 1
    assert len({(each.subject, each.sentence) for each in CHOSEN}) == 2 * EACH


def test_the_choice_does_not_depend_on_the_order_of_the_bank() -> None:
    subjects = sorted({each.subject for each in read_bank()}, reverse=True)
    turned = [each for subject in subjects for each in read_bank() if each.subject == subject]
    assert choose_sentences(turned) == CHOSEN


def test_a_question_has_the_passages_of_its_sentences_and_no_verdict() -> None:
    questions = exam_questions(CHOSEN, 4_096)
    assert [each.number for each in questions] == list(range(1, len(questions) + 1))
    assert [sentence for each in questions for sentence in each.sentences] == list(CHOSEN)
    for each in questions:
        assert len(each.sentences) <= A_QUESTION
        assert len({sentence.subject for sentence in each.sentences}) == 1
        told = each.messages[1]["content"]
        assert all(sentence.sentence in told for sentence in each.sentences)
        assert all(passage.text in told for sentence in each.sentences for passage in sentence.cited)
        assert "lie" not in told.partition("Data (JSON)")[0]
        assert '"kind"' not in told


def test_a_small_context_gets_fewer_sentences_at_a_time_and_another_version() -> None:
    large, small = exam_questions(CHOSEN, 4_096), exam_questions(CHOSEN, 512)
    assert max(len(each.sentences) for each in small) == 3
    assert exam_size(large) == exam_size(exam_questions(CHOSEN, 8_192))
    assert exam_size(large).version != exam_size(small).version
    assert exam_size(small).sentences == exam_size(large).sentences == 2 * EACH


def sentences(true: int, lies: int) -> tuple[ExamItem, ...]:
    kinds = [TRUE] * true + ["unit"] * lies
    return tuple(
        replace(CHOSEN[0], kind=kind, sentence=f"It rains {at}.") for at, kind in enumerate(kinds, 1)
    )


def readings(*findings: str) -> list[Reading]:
    return [
        Reading.model_construct(number=number, finding=finding) for number, finding in enumerate(findings, 1)
    ]


@pytest.mark.parametrize(
    ("true", "lies", "passes"),
    [(100, 0, True), (90, 2, True), (89, 0, False), (100, 3, False), (100, 100, False), (0, 0, False)],
)
def test_the_bar(true: int, lies: int, *, passes: bool) -> None:
    questions = exam_questions(sentences(100, 100), 10**6)
    found = [*["supported"] * true, *["not_said"] * (100 - true), *["supported"] * lies]
    found += ["says_more"] * (200 - len(found))
    answers, at = [], 0
    for question in questions:
        answers.append(readings(*found[at : at + len(question.sentences)]))
        at += len(question.sentences)
    result = grade(questions, answers)
    assert (result.true.kept, result.all_lies.kept, result.unread) == (true, lies, 0)
    assert result.passed is passes


def test_what_is_read_twice_or_not_at_all_is_not_supported() -> None:
    (question,) = exam_questions(sentences(3, 1), 10**6)
    twice = [*readings("supported", "supported"), *readings("contradicted")]
    foreign = Reading.model_construct(number=9, finding="supported")
    result = grade([question], [[*twice, foreign]])
    assert (result.true.kept, result.true.total, result.unread) == (1, 3, 2)
    assert grade([question], [[]]).unread == 4
