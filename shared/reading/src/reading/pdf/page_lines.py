"""Reads the facts of a PDF and the lines that its pages show.

A PDF is a program that paints; pypdf runs it. The limits of pypdf bound a hostile one's cost, and those of
`reading.child` bound the rest.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

from pypdf import Configuration, PageObject, PdfReader, apply_configuration, mult
from pypdf.errors import EmptyFileError, LimitReachedError
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NumberObject, StreamObject

from reading.cleaning import one_line
from reading.facts import DocumentFacts, facts_of_pdf
from reading.formats import UnreadableFileError

MAX_STREAM_BYTES: Final = 24_000_000
"""Limit on one unpacked stream. A page of text takes some kilobytes; a map of a city may take ten million bytes."""
MAX_PAGES: Final = 5_000
SMALLEST_TYPE: Final = 2.0
"""Points; smaller type is unreadable."""
NEARLY_WHITE: Final = 0.97
MIN_LETTERS: Final = 0.5
"""Minimum share of letters and digits, white space aside; less comes from fonts that do not name their letters."""
MAX_NAME: Final = 100
UNKNOWN: Final = "\N{REPLACEMENT CHARACTER}"
"""Replaces a line without any known letter."""
SOFT_HYPHEN: Final = "\u00ad"
NARROW_SPACE: Final = 200
"""Assumed width of a space in a font that does not define it, in thousandths of the type's size."""

_CONFIGURATION: Final = Configuration(
    maximum_declared_stream_length=MAX_STREAM_BYTES,
    array_based_stream_maximum_output_length=MAX_STREAM_BYTES,
    lzw_maximum_output_length=MAX_STREAM_BYTES,
    run_length_maximum_output_length=MAX_STREAM_BYTES,
    zlib_maximum_output_length=MAX_STREAM_BYTES,
    brotli_maximum_output_length=MAX_STREAM_BYTES,
    jbig2_maximum_output_length=MAX_STREAM_BYTES,
    stream_decoding_work_maximum_length=4 * MAX_STREAM_BYTES,
    page_tree_maximum_entries=4 * MAX_PAGES,
    xform_maximum_invocations_per_extraction=500,
    # No other program gets the content of strangers.
    jbig2dec_binary=None,
    disable_legacy_handling=True,
)

_TOO_MUCH: Final = (
    "its parts unpack, or refer to each other, beyond what any text needs; save it anew, or split it"
)
_SHOWS: Final = frozenset({b"Tj", b"TJ", b"'", b'"'})
_UNPAINTED: Final = frozenset({3, 7})
"""Rendering modes of invisible text, such as the recognised text of a scan."""
_BOLD: Final = re.compile(r"bold|black|heavy|semibold|demi|cmbx|-b(?:\b|d)", re.IGNORECASE)
_FIXED: Final = re.compile(
    r"mono|nimbusmon|courier|consolas|typewriter|cmtt|menlo|monaco|fixed|terminal", re.IGNORECASE
)
_TO_SPACE: Final = re.compile(rb">[ \t]*<0020>")
_LIGATURES: Final = str.maketrans(
    {
        "\ufb00": "ff",
        "\ufb01": "fi",
        "\ufb02": "fl",
        "\ufb03": "ffi",
        "\ufb04": "ffl",
        "\ufb05": "st",
        "\ufb06": "st",
    }
)


@dataclass(frozen=True, slots=True)
class PdfLine:
    """One line of a page. It begins at `x`, `y` (points, upwards); `size` is that of its type.

    `bold` and `fixed` (fixed-width) if most of the line is.
    """

    page: int
    text: str
    x: float
    y: float
    size: float
    bold: bool = False
    fixed: bool = False


def read_pdf(content: bytes) -> tuple[DocumentFacts, list[PdfLine]]:
    """Return the facts of a PDF and the lines of its pages, in the order of writing.

    Raises:
        UnreadableFileError: not a PDF, damaged, encrypted, without text, or too large when unpacked.
    """
    with apply_configuration(_CONFIGURATION):
        try:
            reader = PdfReader(BytesIO(content))
            pages = _pages(reader)
            facts = facts_of_pdf(_entries(reader))
        except (UnreadableFileError, MemoryError):
            raise
        except LimitReachedError as error:
            raise UnreadableFileError(_TOO_MUCH) from error
        except EmptyFileError as error:
            raise UnreadableFileError("it is empty") from error
        except Exception as error:
            # Damaged files make the library raise any exception.
            if not content[:1024].lstrip().startswith(b"%PDF-"):
                raise UnreadableFileError("it is not a PDF, despite its name") from error
            raise UnreadableFileError("it is damaged; open it in a viewer and save it anew") from error
        return facts, _lines(pages)


def _pages(reader: PdfReader) -> list[PageObject]:
    if reader.is_encrypted:
        raise UnreadableFileError("it is encrypted; save it without a password and without restrictions")
    pages: list[PageObject] = []
    for page in reader.pages:
        if len(pages) == MAX_PAGES:
            raise UnreadableFileError(f"it has more than {MAX_PAGES:,} pages; split it")
        pages.append(page)
    if not pages:
        raise UnreadableFileError("it has no pages")
    return pages


def _lines(pages: Sequence[PageObject]) -> list[PdfLine]:
    lines: list[PdfLine] = []
    failure: Exception | None = None
    failed = 0
    fonts: set[int] = set()
    for number, page in enumerate(pages):
        try:
            lines += _lines_of(page, number, fonts)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - a damaged page must not lose the others
            failure, failed = error, failed + 1
    if failure is not None and failed * 2 > len(pages):
        is_too_much = isinstance(failure, LimitReachedError)
        raise UnreadableFileError(
            _TOO_MUCH
            if is_too_much
            else "most of its pages are damaged; open it in a viewer and save it anew"
        )
    printed = "".join(line.text for line in lines).replace(" ", "")
    if not printed:
        raise UnreadableFileError(
            "it holds no text: its pages are pictures, perhaps scanned; have their text recognised (OCR) first"
        )
    if sum(map(str.isalnum, printed)) < MIN_LETTERS * len(printed):
        raise UnreadableFileError(
            "its fonts do not say which letters they show, so that its text cannot be read; save it anew"
        )
    return [line for line in lines if line.text != UNKNOWN]


def _lines_of(page: PageObject, number: int, fonts: set[int]) -> list[PdfLine]:
    _set_space_widths(page, fonts)
    lines = _LineCollector(page, number, see_all=False).run()
    # A scanned page shows a picture over invisible text, and no other text.
    return lines or _LineCollector(page, number, see_all=True).run()


class _LineCollector:
    """Collects the visible lines of one page."""

    def __init__(self, page: PageObject, number: int, *, see_all: bool) -> None:
        self._page = page
        self._number = number
        self._see_all = see_all
        self._turned = page.rotation % 360
        box = page.cropbox
        self._seen = (float(box.left) - 5, float(box.bottom) - 5, float(box.right) + 5, float(box.top) + 5)
        self._size = 0.0
        self._mode = 0
        self._white = False
        self._saved: list[tuple[float, int, bool]] = []
        self._pieces: list[tuple[str, float, float, float, str]] = []
        self._lines: list[PdfLine] = []

    def run(self) -> list[PdfLine]:
        self._page.extract_text(
            orientations=(self._turned,),
            visitor_operand_before=self._before,
            visitor_text=self._add,
        )
        self._close()
        return self._lines

    def _before(self, operator: bytes, operands: Any, cm: list[float], tm: list[float]) -> None:
        """Track how text is painted; remove the operands of invisible text."""
        match operator:
            case b"q":
                self._saved.append((self._size, self._mode, self._white))
            case b"Q":
                if self._saved:
                    self._size, self._mode, self._white = self._saved.pop()
            case b"Tf":
                self._size = _number(operands, 1)
            case b"Tr":
                self._mode = int(_number(operands, 0))
            case b"g" | b"rg":
                self._white = bool(operands) and all(_number([each], 0) >= NEARLY_WHITE for each in operands)
            case b"k":
                self._white = bool(operands) and all(
                    _number([each], 0) <= 1 - NEARLY_WHITE for each in operands
                )
            case b"cs" | b"sc" | b"scn":
                self._white = False
            case _ if operator in _SHOWS and not self._see_all and self._is_hidden(mult(tm, cm)):
                operands.clear()

    def _is_hidden(self, matrix: Sequence[float]) -> bool:
        left, bottom, right, top = self._seen
        return (
            self._mode in _UNPAINTED
            or self._white
            or abs(self._size) * math.hypot(matrix[2], matrix[3]) < SMALLEST_TYPE
            or not (left <= matrix[4] <= right and bottom <= matrix[5] <= top)
        )

    def _add(
        self, text: str, cm: list[float], tm: list[float], font: Mapping[str, Any] | None, size: float
    ) -> None:
        matrix = mult(tm, cm)
        x, y = _upright(matrix[4], matrix[5], self._turned)
        points = abs(size) * math.hypot(matrix[2], matrix[3])
        name = str((font or {}).get("/BaseFont", ""))[:MAX_NAME]
        first, *rest = text.translate(_LIGATURES).split("\n")
        if first:
            self._pieces.append((first, x, y, points, name))
        for each in rest:
            self._close()
            if each:
                self._pieces.append((each, x, y, points, name))

    def _close(self) -> None:
        pieces, self._pieces = self._pieces, []
        inked = [each for each in pieces if each[0].strip()]
        if not inked:
            return
        sizes: Counter[float] = Counter()
        for text, _, _, points, _ in inked:
            sizes[round(points, 1)] += len(text.strip())
        size = max(sizes, key=lambda each: (sizes[each], each))
        # The number of a footnote, raised behind a word.
        kept = [each for each in pieces if not (each[3] < 0.8 * size and each[0].strip().isdecimal())]
        printed = "".join(each[0] for each in kept).rstrip()
        # Seen at the end of a line alone, where it breaks a word.
        text = one_line(printed[:-1] + "-" if printed.endswith(SOFT_HYPHEN) else printed)
        _, x, y, *_ = inked[0]
        bold, fixed = _mostly(_BOLD, inked), _mostly(_FIXED, inked)
        self._lines.append(PdfLine(self._number, text or UNKNOWN, x, y, size, bold, fixed))


def _mostly(kind: re.Pattern[str], pieces: Sequence[tuple[str, float, float, float, str]]) -> bool:
    of_kind = sum(len(text.strip()) for text, _, _, _, font in pieces if kind.search(font))
    return of_kind * 5 > sum(len(text.strip()) for text, *_ in pieces) * 4


def _upright(x: float, y: float, turned: int) -> tuple[float, float]:
    """Rotate coordinates to those of the displayed page."""
    match turned:
        case 90:
            return y, -x
        case 180:
            return -x, -y
        case 270:
            return -y, x
        case _:
            return x, y


def _number(operands: Sequence[Any], at: int) -> float:
    try:
        return float(operands[at])
    except (IndexError, TypeError, ValueError):
        return 0.0


def _set_space_widths(page: PageObject, done: set[int]) -> None:
    """Set the width of a space in composite fonts that define none.

    Programs that leave gaps instead of spaces write such fonts. The library then takes any 32nd glyph for the space. If that
    is broad, it mistakes gaps between words for gaps between letters.
    """
    resources = page.get("/Resources")
    fonts: Any = resources.get_object().get("/Font") if resources is not None else None
    if fonts is None:
        return
    for each in fonts.get_object().values():
        font = each.get_object()
        if id(font) in done:
            continue
        done.add(id(font))
        if not isinstance(font, DictionaryObject) or font.get("/Subtype") != "/Type0":
            continue
        letters = font.get("/ToUnicode")
        letters = letters.get_object() if letters is not None else None
        if not isinstance(letters, StreamObject) or _TO_SPACE.search(letters.get_data()):
            continue
        for part in font.get("/DescendantFonts", ArrayObject()).get_object():
            descendant = part.get_object()
            widths = descendant.get("/W", ArrayObject()).get_object()
            known = ArrayObject([NumberObject(32), ArrayObject([NumberObject(NARROW_SPACE)])])
            descendant[NameObject("/W")] = ArrayObject([*widths, *known])


def _entries(reader: PdfReader) -> dict[str, str]:
    entries: dict[str, str] = {}
    for name in ("/Title", "/Author", "/ModDate", "/CreationDate"):
        try:
            said = reader.metadata
            value = said.get(name) if said else None
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001, S112 - they are optional
            continue
        if isinstance(value, str):
            entries[name] = one_line(value[:1000].translate(_LIGATURES))
    return entries
