"""The words around what a post quotes, by the language of the brand."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PostPhrases:
    """Quotation marks, and the words before the link, the headings and an author's name; empty: the language is unknown."""

    quotes: tuple[str, str] = ("“", "”")
    read: str = ""
    inside: str = ""
    by: str = ""


_PHRASES: Final = {
    "en": PostPhrases(("“", "”"), "Read the article: ", "In the article: ", "by "),
    "de": PostPhrases(("„", "“"), "Zum Artikel: ", "Im Artikel: ", "von "),
    "fr": PostPhrases(("« ", " »"), "Lire l’article : ", "Dans l’article : ", "par "),  # noqa: RUF001
    "es": PostPhrases(("«", "»"), "Leer el artículo: ", "En el artículo: ", "de "),
    "it": PostPhrases(("«", "»"), "Leggi l’articolo: ", "Nell’articolo: ", "di "),  # noqa: RUF001
    "nl": PostPhrases(("‘", "’"), "Lees het artikel: ", "In het artikel: ", "door "),  # noqa: RUF001
    "sv": PostPhrases(("”", "”"), "Läs artikeln: ", "I artikeln: ", "av "),
}


def phrases_of(language: str | None) -> PostPhrases:
    """The phrases of a language tag such as `de-AT`; English if the brand has none."""
    return _PHRASES.get((language or "en").partition("-")[0].casefold(), PostPhrases())
