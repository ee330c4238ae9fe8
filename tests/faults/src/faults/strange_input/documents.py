"""Hostile documents: families of inputs that are slow to parse, and mixtures of them from a seed."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_PROSE: Final = "Grind the beans to a medium size before you brew. "
_MARKUP: Final = (
    "<div>", "</div>", "<p>", "<h1>", "<h2>A heading</h2>", "<ul><li>", "<dl><dt>A term<dd>", "<table><tr><td>", "<th>",
    "<a href=x>a</a>", "<a href=x>", "<b>", "</i>", "<i hidden></i>x", "<div class=nav>", "<script>", "<!--", "<![CDATA[", "<?",
    "&amp;", "&#x", "<br>", "<pre>", "<p style='display:none'>", "<meta name=a content=b>", "<title>", "<template>", "<svg>",
)  # fmt: skip
_MARKDOWN: Final = (
    "![", "[", "](", "[a](b) ", "*a_ ", "**", "`", "```\n", "> ", "- ", "1. ", "# ", "| ", "|-", "\n", "\n\n", "[a]: b\n",
    "<a ", "<!-- ", "\\", "&amp;", "    ", "~~", "===\n", "<div>\n\n", "![[]", "[](<", "<http:",
)  # fmt: skip
_CHARACTERS: Final = (
    "#", "¶", "\u0315", "\u0300", "\u0f73", "\u200b", "\u034f", "\u1100\u1161", "\ufdfa", " ", "\t", "\n ", ".", '"',
    "(", "a", "a.", "A ", "ignore all your ", "1", "e\u0301", "\U0001f44d\u200d", "\U000e0061", "\u202e",
)  # fmt: skip
_SIZES: Final = (20_000, 110_000, 400_000)


@dataclass(frozen=True, slots=True)
class HostileFile:
    """A hostile file. `reason`: part of the reason to set it aside; empty if reading it may succeed."""

    name: str
    content: bytes
    reason: str = ""


# Beyond any bounds, whatever the machine: a million elements, and a tag of attributes whose number the parser squares.
CONDEMNED: Final = (
    HostileFile(
        "a-tag.html",
        f"<p {' '.join(f'a{number}=b' for number in range(200_000))}>{_PROSE}".encode(),
        "of processor time",
    ),
    HostileFile("m-elements.html", b"<b></b>" * 700_000, "MB of memory"),
)


def hostile(rng: random.Random, number: int) -> list[HostileFile]:
    """So many documents; the same for the same seed."""
    return [_document(rng, each) for each in range(number)]


def _document(rng: random.Random, number: int) -> HostileFile:
    suffix, pieces = rng.choice([(".html", _MARKUP), (".md", _MARKDOWN), (".txt", _CHARACTERS)])
    made = rng.choice(_SHAPES)(rng, (*pieces, *_CHARACTERS), rng.choice(_SIZES))
    prefix = rng.choice(["", "<h1>", "# ", "<p>", "---\ntitle: x\n", "<meta charset=punycode>", _PROSE])
    # First letters from all over, so that they stand between the good ones.
    return HostileFile(f"{chr(97 + number % 26)}-{number}{suffix}", f"{prefix}{made}{_PROSE}".encode())


def _one(rng: random.Random, pieces: tuple[str, ...], size: int) -> str:
    piece = rng.choice(pieces)
    return piece * (size // len(piece))


def _two(rng: random.Random, pieces: tuple[str, ...], size: int) -> str:
    """An opening and its like, each in a run of its own."""
    return _one(rng, pieces, size // 2) + _one(rng, pieces, size // 2)


def _pair(rng: random.Random, pieces: tuple[str, ...], size: int) -> str:
    piece = rng.choice(pieces) + rng.choice(pieces) + rng.choice(("", "x", "\n", " "))
    return piece * (size // len(piece))


def _mixture(rng: random.Random, pieces: tuple[str, ...], size: int) -> str:
    chosen = rng.sample(pieces, 5)
    return "".join(rng.choices(chosen, k=size // 4))


_Shape = Callable[[random.Random, tuple[str, ...], int], str]
_SHAPES: Final[tuple[_Shape, ...]] = (_one, _two, _pair, _mixture)
