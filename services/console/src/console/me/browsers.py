"""Names of browsers and systems in the header User-Agent, for people who look at their sessions."""

from typing import Final, NamedTuple

_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
)
"""Part of the header, and name; the first that is found counts, as most browsers also name those that they are like."""
_SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


class BrowserName(NamedTuple):
    browser: str
    """Empty for one that is not known."""
    system: str


def browser_name(user_agent: str) -> BrowserName:
    """Returns whose browser it is and where it runs, such as `Firefox` and `Windows`; empty parts are unknown."""
    return BrowserName(_first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent))


def _first(known: tuple[tuple[str, str], ...], user_agent: str) -> str:
    return next((name for part, name in known if part in user_agent), "")
