"""The catalogue of texts: `texts/<screen>.<language>.toml`, one table for each screen.

A text is a string with fields in braces, `"{n} drafts"`, or a table with `one` and `other`, chosen by the field `n`.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from markupsafe import Markup, escape

LANGUAGES: Final = ("en", "de")
"""The first is used where the reader's is unknown."""
_PLURALS: Final = frozenset({"one", "other"})


def language_of(accepted: str) -> str:
    """Chooses a language by the header Accept-Language."""
    for part in accepted.lower().split(","):
        language = part.split(";")[0].strip().split("-")[0]
        if language in LANGUAGES:
            return language
    return LANGUAGES[0]


class TextCatalogue:
    """All texts in all languages; those of a screen are read when the first of them is wanted."""

    def __init__(self) -> None:
        self._folder = files("console.texts")
        self._texts: dict[tuple[str, str], dict[str, str | Mapping[str, str]]] = {}
        self._known: dict[str, dict[str, str | Mapping[str, str]]] = {each: {} for each in LANGUAGES}
        """By language, the texts of all screens that were read: a page wants some hundred of them."""

    def keys(self, language: str) -> frozenset[str]:
        suffix = f".{language}.toml"
        names = [file.name for file in self._folder.iterdir()]
        screens = [name.removesuffix(suffix) for name in names if name.endswith(suffix)]
        return frozenset(key for screen in screens for key in self._of(language, screen))

    def find(self, language: str, key: str) -> str | Mapping[str, str]:
        """Raises KeyError for an unknown key."""
        found = self._known[language].get(key)
        return self._of(language, key.partition(".")[0])[key] if found is None else found

    def has(self, key: str) -> bool:
        return key in self._known[LANGUAGES[0]] or key in self._of(LANGUAGES[0], key.partition(".")[0])

    def _of(self, language: str, screen: str) -> dict[str, str | Mapping[str, str]]:
        if (language, screen) not in self._texts:
            try:
                text = self._folder.joinpath(f"{screen}.{language}.toml").read_text(encoding="utf-8")
            except FileNotFoundError:
                return {}
            self._texts[language, screen] = found = _flat(screen, tomllib.loads(text))
            self._known[language] |= found
        return self._texts[language, screen]


def _flat(prefix: str, table: Mapping[str, Any]) -> dict[str, str | Mapping[str, str]]:
    found: dict[str, str | Mapping[str, str]] = {}
    for name, value in table.items():
        key = f"{prefix}.{name}"
        if isinstance(value, Mapping) and set(value) != _PLURALS:
            found |= _flat(key, value)
        else:
            found[key] = value
    return found


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one reader: language and time zone."""

    catalogue: TextCatalogue
    language: str
    zone: str = "UTC"

    def __call__(self, key: str, **fields: Any) -> str:
        """Returns a text with its fields filled in, to be escaped by the template like any other.

        Raises:
            KeyError: the catalogue has no such text.
        """
        text = self.catalogue.find(self.language, key)
        if not isinstance(text, str):
            text = text["one" if fields["n"] == 1 else "other"]
        elif not fields and "{" not in text and "}" not in text:
            return text
        return text.format_map(
            {name: value if isinstance(value, str) else self.number(value) for name, value in fields.items()}
        )

    def known(self, key: str, otherwise: str) -> str:
        """Returns the text of a key that comes from a service, such as a state; `otherwise` for one that is new."""
        return self(key) if self.catalogue.has(key) else otherwise

    def number(self, value: Any) -> Any:
        """Writes an integer with the language's separator of thousands; leaves anything else as it is."""
        if isinstance(value, bool) or not isinstance(value, int):
            return value
        written = f"{value:,}"
        return written.replace(",", ".") if self.language == "de" else written

    def time(
        self,
        moment: str | datetime | None,
        timespec: Literal["minutes", "seconds", "milliseconds"] = "minutes",
    ) -> Markup:
        """Writes a moment in the reader's zone, as an element `time`; a dash for None.

        The bottom of each page names the zone. Pages of operators show seconds, because messages follow each other within a minute.
        """
        if moment is None:
            return Markup("&ndash;")
        local = self.local(moment)
        clock = local.time().isoformat(timespec)
        shown = f"{self.day(local)}, {clock.replace('.', ',') if self.language == 'de' else clock}"
        return Markup(f'<time datetime="{local.isoformat()}">{escape(shown)}</time>')  # noqa: S704  (its parts are escaped)

    def date(self, moment: str | datetime) -> str:
        """Writes the day of a moment in the reader's zone."""
        return self.day(self.local(moment))

    def local(self, moment: str | datetime) -> datetime:
        """Returns a moment in the reader's zone."""
        at = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(_zone(self.zone))

    def day(self, local: datetime) -> str:
        return _day(self, local.day, local.month, local.year)


@lru_cache(maxsize=1_000)
def _day(t: Texts, day: int, month: int, year: int) -> str:
    """A page has many moments of few days."""
    return t("layout.day", day=day, month=t(f"layout.months.{month}"), year=str(year))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")
