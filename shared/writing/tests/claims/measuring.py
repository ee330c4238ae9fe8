"""Measures the verdicts on sentences that are known to be honest or lies: by code alone, and with a judge's answers.

    python shared/writing/tests/claims/measuring.py count              # the sets of the tests
    python shared/writing/tests/claims/measuring.py count MORE.json
    python shared/writing/tests/claims/measuring.py ask FOLDER MORE.json        # writes FOLDER/requests/NNN.json
    python shared/writing/tests/claims/measuring.py tell FOLDER MORE.json       # reads FOLDER/answers/NNN.json
    python shared/writing/tests/claims/measuring.py keep FOLDER     # what was found of the tests' own sets, as drafts/readings.json

A set is `{"items": [{"id", "kind", "passages": [{"id", "heading", "text"}], "sentence", "cited": [ids]}]}`; kinds that end in “lie” are
lies. Requests are those that the writer sends, of sentences of all sets mixed, and carry no label; whoever answers them, answers
blind. Each answer is the JSON that the request's schema asks for.
"""

import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from writing import ArticleSource
from writing.model.answers import DraftSentence, json_schema
from writing.model.claims.comparison import Evidence
from writing.model.copying import SourceRuns
from writing.model.drafting import RejectedSentence, SupportedSentence, WritingMaterial
from writing.model.judge.findings import apply_reading
from writing.model.judge.question import (
    MAX_QUOTES,
    CitedSentence,
    Claim,
    Quote,
    Reading,
    SecondReading,
    cited_by,
    messages,
)

DRAFTS: Final = Path(__file__).parents[1] / "drafts"
READINGS: Final = DRAFTS / "readings.json"
A_REQUEST: Final = 10
"""Sentences."""
HOLDS, CONCEIVABLE, REFUSED = "holds", "conceivable", "refused"
"""By code."""
AGREEING = "agreeing judge"
"""What is kept if a judge confirms whatever it is asked, and shows all there is for it."""
AGREES, KEPT, GIVEN_UP = "judge agrees", "kept", "given up"
"""The judge finds it supported, whatever code does; what both keep; what code holds, and the judge refuses."""


@dataclass(frozen=True)
class Item:
    id: str
    kind: str
    sentence: str
    cited: tuple[Evidence, ...]

    @property
    def is_lie(self) -> bool:
        return self.kind.endswith("lie")


def item(name: str, kind: str, sentence: str, passages: dict[str, Any], cited: Sequence[str]) -> Item:
    evidence = (
        Evidence(each, passages[each].get("heading"), passages[each]["text"])
        for each in cited
        if each in passages
    )
    return Item(name, kind, sentence, tuple(evidence))


def own() -> Iterator[Item]:
    """The sets that the tests have."""
    honest = _read(DRAFTS / "honest.json")
    for draft in honest:
        for at, each in enumerate(draft["sentences"]):
            yield item(
                f"honest {draft['keyword']} {at}",
                "honest_drafts",
                each["text"],
                draft["passages"],
                each["passages"],
            )
    for draft in _read(DRAFTS / "strangers.json"):
        kind = {"told": "honest_rules", "free": "honest_free"}[draft["style"]]
        for at, each in enumerate(draft["sentences"]):
            yield item(f"stranger {kind} {at}", kind, each["text"], draft["passages"], each["passages"])
    passages = {draft["keyword"]: draft["passages"] for draft in honest}
    for lie in _read(DRAFTS / "lies.json"):
        yield item(f"lie {lie['lie']}", "lie", lie["text"], passages[lie["keyword"]], lie["passages"])
    for at, lie in enumerate(_read(DRAFTS / "subtle_lies.json")):
        source = {"s1p1": {"heading": lie.get("heading"), "text": lie["source"]}}
        yield item(f"subtle {at}", "subtle_lie", lie["said"], source, ["s1p1"])


def added(path: Path) -> Iterator[Item]:
    for each in _read(path)["items"]:
        passages = {passage["id"]: passage for passage in each["passages"]}
        yield item(each["id"], f"{path.stem}_{each['kind']}", each["sentence"], passages, each["cited"])


def ask(folder: Path, items: Sequence[Item]) -> None:
    """Writes the requests, and apart from them which sentence is which."""
    mixed = [each for each in items if each.cited]
    random.Random(7).shuffle(mixed)
    (folder / "requests").mkdir(parents=True, exist_ok=True)
    labels: dict[str, dict[str, str]] = {}
    for at in range(0, len(mixed), A_REQUEST):
        some = mixed[at : at + A_REQUEST]
        name = f"{at // A_REQUEST + 1:03}"
        claimed, evidence = together(some)
        request = {
            "messages": messages(claimed, evidence),
            "response_format": json_schema(SecondReading, passages=cited_by(claimed)),
        }
        (folder / "requests" / f"{name}.json").write_text(
            json.dumps(request, indent=1, ensure_ascii=False) + "\n"
        )
        labels[name] = {str(each.number): one.id for each, one in zip(claimed, some, strict=True)}
    (folder / "labels.json").write_text(json.dumps(labels, indent=1) + "\n")
    _say(
        f"{len(mixed)} sentences in {len(labels)} requests; {len(items) - len(mixed)} cite no passage that there is"
    )


def together(items: Sequence[Item]) -> tuple[list[CitedSentence], dict[str, Evidence]]:
    """The items as sentences of one section; what two of them cite is there once."""
    names: dict[tuple[str | None, str], str] = {}
    claimed: list[CitedSentence] = []
    for number, each in enumerate(items, 1):
        cited = [names.setdefault((one.heading, one.text), f"s{len(names) + 1}p1") for one in each.cited]
        claimed.append(CitedSentence(number, each.sentence, tuple(cited)))
    return claimed, {name: Evidence(name, heading, text) for (heading, text), name in names.items()}


def count(items: Sequence[Item]) -> None:
    """Prints what code makes of each kind, and what is kept if a judge agrees to all it may confirm."""
    table = defaultdict[str, Counter[str]](Counter)
    for each in items:
        verdict, judged = checked(each)
        if verdict != REFUSED:
            judged = apply_reading(judged, agreeing(each.cited), material_of(each))
        table[each.kind].update(("sentences", verdict))
        table[each.kind].update({AGREEING: isinstance(judged, SupportedSentence)})
    _tell(table, ("sentences", HOLDS, CONCEIVABLE, REFUSED, AGREEING))


def agreeing(cited: Sequence[Evidence]) -> Reading:
    """What a judge says who confirms whatever it is asked."""
    quotes = tuple(Quote(passage=each.id, words=each.text[:600]) for each in cited)[:MAX_QUOTES]
    return Reading(number=1, claims=(Claim(says="all of it", quotes=quotes),), why="", finding="supported")


def tell(folder: Path, items: Sequence[Item]) -> None:
    """Prints what code and the judge make of each kind together, and which lies got through and which honest sentences did not."""
    table = defaultdict[str, Counter[str]](Counter)
    for each, reading in answered(folder, items):
        verdict, judged = checked(each)
        if verdict != REFUSED:
            judged = apply_reading(judged, reading, material_of(each))
        kept = isinstance(judged, SupportedSentence)
        agrees = reading is not None and reading.finding == "supported"
        table[each.kind].update(("sentences", verdict))
        table[each.kind].update({KEPT: kept, GIVEN_UP: verdict == HOLDS and not kept, AGREES: agrees})
        if kept == each.is_lie and (each.is_lie or verdict != REFUSED):
            why = judged.reason if isinstance(judged, RejectedSentence) else "through"
            _say(f"{each.kind}: {why}: {each.sentence} [{reading.why if reading else 'unread'}]")
    _tell(table, ("sentences", HOLDS, CONCEIVABLE, REFUSED, AGREES, KEPT, GIVEN_UP))


def keep(folder: Path, items: Sequence[Item]) -> None:
    """Writes down what was found of the tests' own sets, for a judge that says it again."""
    found = {
        each.id: [
            reading.finding,
            *([quote.passage, quote.words] for claim in reading.claims for quote in claim.quotes),
        ]
        for each, reading in answered(folder, items)
        if reading is not None
    }
    lines = (
        f"{json.dumps(name)}: {json.dumps(each, ensure_ascii=False)}" for name, each in sorted(found.items())
    )
    READINGS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def answered(folder: Path, items: Sequence[Item]) -> Iterator[tuple[Item, Reading | None]]:
    known = {each.id: each for each in items}
    for name, labels in _read(folder / "labels.json").items():
        answer = SecondReading.model_validate_json((folder / "answers" / f"{name}.json").read_text())
        readings = {each.number: each for each in answer.readings}
        there = {number: known[label] for number, label in labels.items() if label in known}
        for number, each in there.items():
            reading = readings.get(int(number))
            names = _names_in(folder, name, int(number))
            yield each, reading and _renamed(reading, each, names)


def _names_in(folder: Path, name: str, number: int) -> Sequence[str]:
    """Under which ids the request had the passages of a sentence."""
    told = _read(folder / "requests" / f"{name}.json")["messages"][1]["content"]
    sentences = json.loads(told.partition("Data (JSON):\n")[2])["sentences"]
    names: list[str] = next(each["passages"] for each in sentences if each["number"] == number)
    return names


def checked(each: Item) -> tuple[str, SupportedSentence | RejectedSentence]:
    material = material_of(each)
    passages = tuple(one.id for one in each.cited)
    judged = material.judge(
        DraftSentence(text=each.sentence, passages=passages), frozenset(material.evidence), ()
    )
    if isinstance(judged, SupportedSentence):
        return HOLDS, judged
    return (CONCEIVABLE if judged.conceivable else REFUSED), judged


def material_of(each: Item) -> WritingMaterial:
    """Under the ids that it cites them by."""
    sources = {one.id: ArticleSource(n=at, title="", passages=()) for at, one in enumerate(each.cited, 1)}
    return WritingMaterial(
        {one.id: one for one in each.cited}, sources, SourceRuns.of(one.text for one in each.cited)
    )


def _renamed(reading: Reading, each: Item, asked: Sequence[str]) -> Reading:
    """With the passages under the ids of the item, instead of those of its request."""
    names = dict(zip(asked, (one.id for one in each.cited), strict=True))

    def renamed(claim: Claim) -> Claim:
        quotes = (
            Quote(passage=names.get(each.passage, each.passage), words=each.words) for each in claim.quotes
        )
        return claim.model_copy(update={"quotes": tuple(quotes)})

    return reading.model_copy(update={"claims": tuple(map(renamed, reading.claims))})


def _tell(table: dict[str, Counter[str]], columns: Sequence[str]) -> None:
    _say(f"{'':32}" + "".join(f"{column:>16}" for column in columns))
    for kind, counts in table.items():
        _say(f"{kind:32}" + "".join(f"{counts[column]:>16}" for column in columns))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _read(path: Path) -> Any:
    return json.loads(path.read_text())


def main() -> None:
    command, *names = sys.argv[1:] or ["count"]
    folder = Path(names.pop(0)) if command != "count" else None
    items = [*own(), *(each for name in names for each in added(Path(name)))]
    match command, folder:
        case "ask", Path():
            ask(folder, items)
        case "tell", Path():
            tell(folder, items)
        case "keep", Path():
            keep(folder, items)
        case _:
            count(items)


if __name__ == "__main__":
    main()
