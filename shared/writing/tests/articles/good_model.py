"""A model that answers as a good one does: its answers are written by hand, subject by subject, in the TOML files of this folder.

Of a source, `passages.x` is a heading with its text: lines with bars are a table, lines with numbers a list, indented lines a
listing. A source with `page` is the page about the keyword, and its passages are sections of it. Of a section, each line of `text` is
a sentence with the passages that it cites; a blank line begins a paragraph, `: table`, `: list` or `: listing` names what its
paragraph prints. `!` marks a sentence that its passages do not say: the judge refuses it. A line with `~` is what the model writes
when the sentence before comes back. `edits` are what the editing pass makes of one or two sentences: the new one, then the old ones.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from documents.blocks import Block, ItemList, Listing, ListItem, Paragraph, Table
from documents.sections import Section
from writing.article import ArticleSource, BrandWishes, SourcePassage
from writing.model.chat import ChatCompletion, ChatRequest, TokenUsage
from writing.model.claims.wording import sentences_of, tokens_of
from writing.model.drafting import WritingMaterial

FOLDER: Final = Path(__file__).parent
_CITES: Final = re.compile(r"(?P<text>.*?)(?: \[(?P<keys>[a-z ]+)\])?")
QUOTES: Final = 3
"""The most quotes of a reading."""


@dataclass(frozen=True)
class Line:
    text: str
    keys: tuple[str, ...]
    is_lie: bool = False
    mended: "Line | None" = None


@dataclass(frozen=True)
class Subject:
    """One of the files."""

    name: str

    @cached_property
    def told(self) -> dict[str, Any]:
        return tomllib.loads((FOLDER / f"{self.name}.toml").read_text())

    @property
    def keyword(self) -> str:
        return str(self.told["keyword"])

    @cached_property
    def sources(self) -> tuple[ArticleSource, ...]:
        return tuple(_source(n, self.keyword, each) for n, each in enumerate(self.told["sources"], 1))

    @cached_property
    def ids(self) -> dict[str, str]:
        """The ids of passages by their keys."""
        material = WritingMaterial.of(self.sources, max_characters=100_000)
        headings = {each.heading: each.id for each in material.evidence.values()}
        return {
            key: headings[heading]
            for source in self.told["sources"]
            for key, (heading, _) in source["passages"].items()
        }

    def lines(self, section: Mapping[str, Any]) -> list[list[Line | str]]:
        """The paragraphs of a section, as lines and names of exhibits."""
        return [list(_lines(text)) for text in section["text"].strip().split("\n\n")]


def _lines(text: str) -> Iterator[Line | str]:
    lines = text.strip().splitlines()
    for at, line in enumerate(lines):
        if line.startswith(": "):
            yield line.removeprefix(": ")
        elif not line.startswith("~ "):
            after = lines[at + 1] if at + 1 < len(lines) else ""
            mended = _line(after.removeprefix("~ ")) if after.startswith("~ ") else None
            said = _line(line.removeprefix("! "))
            yield Line(said.text, said.keys, line.startswith("! "), mended)


def _line(text: str) -> Line:
    match = _CITES.fullmatch(text)
    assert match
    return Line(match["text"], tuple((match["keys"] or "").split()))


def _source(n: int, keyword: str, told: Mapping[str, Any]) -> ArticleSource:
    parts = [(heading, text.strip()) for heading, text in told["passages"].values()]
    if not told.get("page"):
        passages = tuple(SourcePassage(heading, text, 1.0) for heading, text in parts)
        return ArticleSource(n, told["title"], passages)
    children = tuple(Section(heading, 2, blocks=tuple(_blocks(text))) for heading, text in parts)
    # Research found the beginnings of two sections, too.
    passages = tuple(SourcePassage(heading, text.split("\n\n")[0], 1.0) for heading, text in parts[:2])
    page = Section(told["title"], 0, children=children)
    return ArticleSource(n, told["title"], passages, section=page, about=1.0)


def _blocks(text: str) -> Iterator[Block]:
    for piece in text.split("\n\n"):
        lines = piece.splitlines()
        if piece.startswith("|"):
            head, *rows = (tuple(cell.strip() for cell in line.strip("| ").split("|")) for line in lines)
            yield Table(tuple(rows), head)
        elif piece.startswith("    "):
            yield Listing(tuple(line.removeprefix("    ") for line in lines))
        elif piece.startswith("1. "):
            items = (ListItem((Paragraph(line.partition(". ")[2]),)) for line in lines)
            yield ItemList(tuple(items), ordered=True)
        else:
            yield Paragraph(piece)


class GoodModel:
    """Answers as a writer, a judge and an editor, by the shape that it is asked for."""

    model = "good-1"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self.told: list[tuple[str, dict[str, Any]]] = []
        """What it was asked for, with which data."""
        self._of_text = {
            line.text: line
            for section in subject.told["sections"]
            for paragraph in subject.lines(section)
            for line in paragraph
            if isinstance(line, Line)
        }

    async def complete(self, request: ChatRequest) -> ChatCompletion:
        data = json.loads(request.messages[1]["content"].partition("Data (JSON):\n")[2])
        shape = request.response_format["json_schema"]["name"]
        self.told.append((shape, data))
        answer = getattr(self, f"_{shape.lower()}")(data)
        return ChatCompletion(
            content=json.dumps(answer), finish_reason="stop", model=self.model, usage=TokenUsage()
        )

    def _brief(self, _: Any) -> dict[str, Any]:
        told = self._subject.told
        return {"angle": told["through_line"], "questions": [each["question"] for each in told["sections"]]}

    def _outline(self, _: Any) -> dict[str, Any]:
        told = self._subject.told
        sections = [
            {name: each[name] for name in ("heading", "question", "words")}
            | {"passages": self._ids(each["passages"].split())}
            for each in told["sections"]
        ]
        return {"through_line": told["through_line"], "sections": sections}

    def _sectiondraft(self, data: Any) -> dict[str, Any]:
        told = next(each for each in self._subject.told["sections"] if each["heading"] == data["heading"])
        return {"paragraphs": [self._paragraph(each, data) for each in self._subject.lines(told)]}

    def _paragraph(self, lines: Sequence[Line | str], data: Any) -> dict[str, Any]:
        kinds = {"table": "columns", "list": "items", "listing": "code"}
        wanted = [kinds[each] for each in lines if isinstance(each, str)]
        exhibits = data.get("exhibits", ())
        return {
            "sentences": [
                {"text": each.text, "passages": self._ids(each.keys)}
                for each in lines
                if isinstance(each, Line)
            ],
            "exhibit": next((each["id"] for each in exhibits if wanted and wanted[0] in each), ""),
        }

    def _mendedsentences(self, data: Any) -> dict[str, Any]:
        mended = [(each["number"], self._of_text.get(each["text"])) for each in data["sentences"]]
        return {
            "sentences": [
                {"number": number, "text": line.mended.text, "passages": self._ids(line.mended.keys)}
                for number, line in mended
                if line and line.mended
            ]
        }

    def _secondreading(self, data: Any) -> dict[str, Any]:
        passages = {each["id"]: each["text"] for each in data["passages"]}
        return {"readings": [self._reading(each, passages) for each in data["sentences"]]}

    def _reading(self, sentence: Mapping[str, Any], passages: Mapping[str, str]) -> dict[str, Any]:
        line = self._of_text.get(sentence["text"])
        if line and line.is_lie:
            return {
                "number": sentence["number"],
                "claims": [],
                "why": "it is not there",
                "finding": "says_more",
            }
        own = _keys(sentence["text"])
        said = [(name, each) for name in sentence["passages"] for each in sentences_of(passages[name])]
        said.sort(key=lambda each: -len(own & _keys(each[1])))
        quotes = [{"passage": name, "words": words} for name, words in said[:QUOTES]]
        claims = [{"says": sentence["text"][:200], "quotes": quotes}]
        return {"number": sentence["number"], "claims": claims, "why": "", "finding": "supported"}

    def _editedarticle(self, data: Any) -> dict[str, Any]:
        edits = [edit for section in self._subject.told["sections"] for edit in section.get("edits", ())]
        return {
            "sections": [
                {"paragraphs": [{"sentences": _edited(each, edits)} for each in section["paragraphs"]]}
                for section in data["article"]
            ]
        }

    def _front(self, _: Any) -> dict[str, Any]:
        told = self._subject.told
        return {name: told[name] for name in ("title", "description", "key_points")}

    def _ids(self, keys: Sequence[str]) -> list[str]:
        return [self._subject.ids[key] for key in keys]


def _edited(sentences: Sequence[Mapping[str, Any]], edits: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    numbers = {each["text"]: each["number"] for each in sentences}
    merged = {}
    for new, *old in edits:
        if all(each in numbers for each in old):
            merged |= {old[0]: (new, old)} | dict.fromkeys(old[1:])
    edited: list[dict[str, Any]] = []
    for text, number in numbers.items():
        match merged.get(text, (text, [text])):
            case (new, old):
                edited.append(
                    {"text": new, "of": [numbers[each] for each in old] if text in merged else [number]}
                )
    return edited


def _keys(text: str) -> frozenset[str]:
    return frozenset(token.key for token in tokens_of(text) if token.weighs)


class Notes:
    """The context of one article, which keeps its steps in this process; `found` is what a search for open questions finds."""

    brand_slug = "acme"
    wishes = BrandWishes(min_sources=3)
    comment = ""

    def __init__(self, found: Sequence[ArticleSource] = ()) -> None:
        self._found = tuple(found)
        self.searched: list[tuple[str, ...]] = []

    async def step(self, name: str, _: Any, work: Any) -> Any:
        return await work(name)

    async def earlier_titles(self) -> tuple[str, ...]:
        return ()

    async def trusts_one_of(self, judges: Sequence[str]) -> bool:
        return True

    async def find_sources(self, questions: Sequence[str]) -> tuple[ArticleSource, ...]:
        self.searched.append(tuple(questions))
        return self._found
