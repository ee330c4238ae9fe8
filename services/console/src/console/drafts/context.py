"""A sentence beside the passages that carry it, in their context in the source. Pure.

A passage is marked only where the stored source has it. Where it is not found, nothing is marked, and the page says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

AROUND: Final = 2
"""Paragraphs shown before and after a passage."""
MAX_DEPTH: Final = 40
"""Of nested sections and blocks."""
MAX_SHOWN: Final = 40
"""Paragraphs that are shown of one passage."""


@dataclass(frozen=True, slots=True)
class Run:
    """A part of a paragraph."""

    text: str
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class ShownParagraph:
    runs: tuple[Run, ...]
    is_passage: bool
    """Whether it belongs to the passage, rather than to its context."""


@dataclass(frozen=True, slots=True)
class PassageInContext:
    n: int
    """The number of its source."""
    source: str
    url: str | None
    path: str | None
    headings: tuple[str, ...]
    is_found: bool
    """Whether the stored source has it."""
    paragraphs: tuple[ShownParagraph, ...]
    """With their context if it is found; else as its writer read it, unmarked. May be empty."""


@dataclass(frozen=True, slots=True)
class SentenceEvidence:
    """One sentence with all that carries it."""

    number: int
    text: str
    verdict: str
    given_by: str
    problem: str
    nearest: str
    passages: tuple[PassageInContext, ...]


@dataclass(frozen=True, slots=True)
class _Paragraph:
    headings: tuple[str, ...]
    text: str


def sentence_evidence(
    marked: Mapping[str, Any],
    number: int,
    research: Mapping[str, Any] | None,
    cited: Sequence[Mapping[str, Any]],
) -> SentenceEvidence | None:
    """Pairs a sentence with its passages.

    Args:
        marked: the answer of `GET /v1/content/{id}/sentences`.
        number: of the sentence in the article, from 1.
        research: the answer of `GET /v1/research/{id}`; None if it is not kept or not reachable.
        cited: the sources of the version, as the article lists them.

    Returns:
        None if the article has no such sentence.
    """
    sentences = list(sentences_of(marked))
    if not 1 <= number <= len(sentences):
        return None
    sentence = sentences[number - 1]
    sources = {each["n"]: each for each in (research or {}).get("sources", ())}
    listed = {each["n"]: each for each in cited}
    passages = [
        _passage(known, sentence["text"], sources, listed)
        for name in sentence["passages"]
        if (known := marked["passages"].get(name)) is not None
    ]
    if not passages:
        passages = [_quotation(n, sentence["text"], sources, listed) for n in sentence["sources"]]
    return SentenceEvidence(
        number,
        sentence["text"],
        sentence["verdict"],
        sentence["given_by"],
        sentence["problem"],
        sentence["nearest"],
        tuple(passages),
    )


def sentences_of(marked: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields the sentences of all blocks, in order."""
    return chain.from_iterable(block["sentences"] for block in marked["blocks"])


def _passage(
    known: Mapping[str, Any],
    sentence: str,
    sources: Mapping[int, Mapping[str, Any]],
    listed: Mapping[int, Mapping[str, Any]],
) -> PassageInContext:
    parts = [each for each in known["text"].split("\n\n") if each.strip()]
    wanted = {_plain(each) for each in parts}
    pieces = list(_pieces(sources.get(known["n"])))
    places = [at for at, each in enumerate(pieces) if _plain(each.text) in wanted]
    found = {_plain(pieces[at].text) for at in places}
    about = listed.get(known["n"]) or sources.get(known["n"]) or {}
    if found != wanted:
        shown = tuple(ShownParagraph((Run(each),), is_passage=True) for each in parts[:MAX_SHOWN])
        return _shown(known["n"], about, tuple(known["titles"]), is_found=False, paragraphs=shown)
    # The same words may stand at several places: the place under the passage's own heading is meant.
    own = [at for at in places if pieces[at].headings[-1:] == tuple(known["titles"][-1:])] or places
    return _shown(
        known["n"],
        about,
        tuple(known["titles"]),
        is_found=True,
        paragraphs=_around(pieces, own, sentence),
    )


def _quotation(
    n: int, sentence: str, sources: Mapping[int, Mapping[str, Any]], listed: Mapping[int, Mapping[str, Any]]
) -> PassageInContext:
    """The place of a sentence that quotes its source word for word."""
    pieces = list(_pieces(sources.get(n)))
    wanted = _plain(sentence)
    places = [at for at, each in enumerate(pieces) if wanted in _plain(each.text)][:1]
    about = listed.get(n) or sources.get(n) or {}
    if not places:
        return _shown(n, about, (), is_found=False, paragraphs=())
    return _shown(
        n,
        about,
        pieces[places[0]].headings,
        is_found=True,
        paragraphs=_around(pieces, places, sentence),
    )


def _shown(
    n: int,
    about: Mapping[str, Any],
    headings: tuple[str, ...],
    *,
    is_found: bool,
    paragraphs: tuple[ShownParagraph, ...],
) -> PassageInContext:
    url = about.get("url")
    # Addresses of sources are other people's text: only the web's own may become a link.
    safe = url if isinstance(url, str) and url.startswith(("https://", "http://")) else None
    return PassageInContext(
        n, about.get("title") or f"[{n}]", safe, about.get("path"), headings, is_found, paragraphs
    )


def _around(pieces: Sequence[_Paragraph], places: Sequence[int], sentence: str) -> tuple[ShownParagraph, ...]:
    first, last = max(0, places[0] - AROUND), min(len(pieces), places[-1] + AROUND + 1)
    marked = set(places)
    return tuple(
        ShownParagraph(
            _runs(pieces[at].text, sentence) if at in marked else (Run(pieces[at].text),),
            is_passage=at in marked,
        )
        for at in range(first, min(last, first + MAX_SHOWN))
    )


def _runs(text: str, sentence: str) -> tuple[Run, ...]:
    """The paragraph of a passage: only the sentence is marked if it stands there word for word, else the whole paragraph."""
    at = text.find(sentence)
    if at < 0:
        return (Run(text, is_marked=True),)
    end = at + len(sentence)
    runs = (Run(text[:at]), Run(sentence, is_marked=True), Run(text[end:]))
    return tuple(each for each in runs if each.text)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _pieces(source: Mapping[str, Any] | None) -> Iterator[_Paragraph]:
    """Yields the paragraphs of a source as the research keeps them, each under its headings."""
    if source is None:
        return
    section = source.get("section")
    if section:
        yield from _of_section(section, tuple(source.get("titles_above") or ()), 0)
    for passage in source["passages"]:
        headings = (source["title"], passage["heading"]) if passage["heading"] else (source["title"],)
        for paragraph in passage["text"].split("\n\n"):
            for line in paragraph.split("\n"):
                text = line.partition("\t")[2] if "\t" in line else line
                if text.strip():
                    yield _Paragraph(headings, text.replace("\t", " "))


def _of_section(section: Mapping[str, Any], above: tuple[str, ...], depth: int) -> Iterator[_Paragraph]:
    if depth > MAX_DEPTH:
        return
    path = (*above, section["title"])
    for block in section["blocks"]:
        for text in _of_block(block, 0):
            yield _Paragraph(path, text)
    for child in section["children"]:
        yield from _of_section(child, path, depth + 1)


def _of_block(block: Mapping[str, Any], depth: int) -> Iterator[str]:  # noqa: C901  (one for each kind)
    """Yields the paragraphs of a block, as the writer that uses a model reads them."""
    if depth > MAX_DEPTH:
        return
    match block:
        case {"p": str(text)} | {"label": str(text)}:
            yield text
        case {"ul": list(items)} | {"ol": list(items)}:
            for item in items:
                yield from _on_one_line(item, depth)
        case {"table": list(rows)}:
            if caption := block.get("caption"):
                yield caption
            head = block.get("head") or []
            for row in rows:
                yield _row(head, row)
        case {"dl": list(entries)}:
            for terms, blocks, *_ in entries:
                explained = " ".join(_on_one_line(blocks, depth))
                term = ", ".join(terms)
                yield f"{term}: {explained}" if explained else term
        case {"note": list(blocks)}:
            for each in blocks:
                yield from _of_block(each, depth + 1)
        case _:
            return


def _on_one_line(blocks: Sequence[Mapping[str, Any]], depth: int) -> Iterator[str]:
    if text := " ".join(text for each in blocks for text in _of_block(each, depth + 1)):
        yield text


def _row(head: Sequence[str], row: Sequence[str]) -> str:
    names = (*head, *[""] * (len(row) - len(head)))
    cells = [f"{name}: {cell}" if name else cell for name, cell in zip(names, row, strict=False) if cell]
    return f"{'; '.join(cells)}." if cells else ""
