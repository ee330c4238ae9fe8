"""PDFs made to break what reads them: each ends with a reason, soon, and takes no other document along."""

import asyncio
import time
import zlib
from contextlib import suppress

import pytest

from reading.extraction import extract
from reading.formats import UnreadableFileError
from reading.pool import HostileDocumentError, ReaderPool
from tests.fixtures.pdf_files import assembled, lines, pdf, stream

PROSE = "Cold brew coffee steeps for twelve hours in cold water, and it needs much of it."
CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
FONT = "/Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
MEGABYTE = 1024 * 1024


def page(content: bytes, resources: str = FONT) -> dict[int, bytes]:
    return {
        1: CATALOGUE,
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources << {resources} >> >>".encode(),
        5: content,
    }  # fmt: skip


def deep_tree() -> bytes:
    levels = {at: f"<< /Type /Pages /Kids [{at + 1} 0 R] /Count 1 >>".encode() for at in range(2, 20_000)}
    return assembled({1: CATALOGUE, **levels, 20_000: b"<< /Type /Page >>"})


def one_page_many_times() -> bytes:
    kids = b"4 0 R " * 300_000
    return assembled(
        {
            1: CATALOGUE,
            2: b"<< /Type /Pages /Kids [" + kids + b"] /Count 300000 >>",
            4: b"<< /Type /Page /Parent 2 0 R >>",
        }
    )


def forms_in_forms() -> bytes:
    """Ten forms that show the next one ten times each, and so on: as many words as no memory holds."""
    forms = {
        at: stream(
            f"/X{at + 1} Do ".encode() * 10,
            f"/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << /XObject << /X{at + 1} {at + 1} 0 R >> >>",
        )
        for at in range(10, 20)
    }
    shows = f"/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << {FONT} >>"
    last = stream(lines(700, PROSE).encode(), shows)
    return assembled({**page(stream(b"/X10 Do"), "/XObject << /X10 10 0 R >>"), **forms, 20: last})


def packed_in_packed() -> bytes:
    """A page of two gigabytes in some kilobytes, packed twice."""
    packer = zlib.compressobj(9)
    once = b"".join(packer.compress(b" " * MEGABYTE) for _ in range(2048)) + packer.flush()
    twice = zlib.compress(once, 9)
    head = f"<< /Length {len(twice)} /Filter [/FlateDecode /FlateDecode] >>\nstream\n".encode()
    return assembled(page(head + twice + b"\nendstream"))


TOO_MUCH = "beyond what any text needs"
DAMAGED = "damaged; open it in a viewer"
LOOP = "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 10 0 R >> >>"

FAMILIES = {
    "a stream that unpacks to forty megabytes": (TOO_MUCH, lambda: assembled(page(stream(b"(a) Tj " * 6_000_000)))),
    "a stream in a stream": (TOO_MUCH, packed_in_packed),
    "a tree of pages that is deep": (TOO_MUCH, deep_tree),
    "a tree of pages that bites its tail": (
        DAMAGED,
        lambda: assembled(
            {1: CATALOGUE, 2: b"<< /Type /Pages /Kids [3 0 R] >>", 3: b"<< /Type /Pages /Kids [2 0 R] >>"}
        ),
    ),
    "one page many times": (TOO_MUCH, one_page_many_times),
    "objects that stand for each other": (DAMAGED, lambda: assembled({1: b"2 0 R", 2: b"1 0 R"})),
    "a page that is its own content": (DAMAGED, lambda: assembled(page(b"5 0 R"))),
    "a length that is its own": (TOO_MUCH, lambda: assembled(page(b"<< /Length 5 0 R >>\nstream\nq\nendstream"))),
    "forms in forms": (PROSE, forms_in_forms),
    "a form in itself": (
        "it holds no text",
        lambda: assembled({**page(stream(b"/X Do"), "/XObject << /X 10 0 R >>"), 10: stream(b"/X Do", LOOP)}),
    ),
    "arrays in arrays": (DAMAGED, lambda: assembled(page(stream(b"[" * 500_000)))),
    "half a million words of a letter": (
        "160 MB of memory",
        lambda: assembled(page(stream(b"BT /F 9 Tf 9 9 Td " + b"(a) Tj 9 0 Td " * 400_000 + b"ET"))),
    ),
    "tables of places that lead astray": (
        PROSE,
        lambda: pdf(lines(700, PROSE)).replace(b"trailer\n<<", b"trailer\n<< /Prev 9"),
    ),
}  # fmt: skip


@pytest.mark.extended
async def test_each_ends_with_a_reason_or_without_the_bomb() -> None:
    async with ReaderPool() as readers:

        async def outcome(content: bytes) -> str:
            try:
                document = await readers.read("a.pdf", content)
            except (UnreadableFileError, HostileDocumentError) as error:
                return str(error)
            return "\n".join(each.text for each in document.passages)[:MEGABYTE]

        found = await asyncio.gather(*(outcome(made()) for _, made in FAMILIES.values()))
        assert [
            (family, text)
            for (family, (expected, _)), text in zip(FAMILIES.items(), found, strict=True)
            if expected not in text
        ] == []
        # Whoever comes after them finds a process that reads.
        assert await outcome(pdf(lines(700, PROSE))) == PROSE


SIZE = 200_000


@pytest.mark.extended
@pytest.mark.parametrize(
    "painted",
    [
        "a" * SIZE,
        "a-" * (SIZE // 2),
        ". " * (SIZE // 2),
        "- " * (SIZE // 2),
        "1 " * (SIZE // 2),
        *("\n".join(f"BT /F 9 Tf 1 0 0 1 72 {y} Tm ({shown}) Tj ET" for y in heights) for heights, shown in (
            ([700] * 4000, "a-"), ([700, 600] * 2000, "page 1"), (range(800, 0, -1), "broken-"), (range(800, 0, -1), "* 1.")
        )),
    ],
)  # fmt: skip
def test_reading_takes_time_by_the_size_of_the_text(painted: str) -> None:
    content = pdf(painted if "BT" in painted else f"BT /F 9 Tf 72 700 Td ({painted}) Tj ET")
    began = time.process_time()
    with suppress(UnreadableFileError):
        extract("a.pdf", content)
    assert time.process_time() - began < 60
