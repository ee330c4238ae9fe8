"""What a document says about itself: title, address, licence, and the day it was written. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final

from chassis.links import public_link
from research.reading.cleaning import one_line

if TYPE_CHECKING:
    from lxml import etree

MAX_LICENCE: Final = 200
MAX_ADDRESS: Final = 2000
MAX_AUTHOR: Final = 120
MAX_NAME: Final = 300
"""Characters of a title or heading that is looked at."""
EDGE: Final = 4000
"""Characters from the beginning and from the end of a text in which it may tell its date."""

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_CREDENTIALS = re.compile(r"//[^\s/?#]*@")

# The day of the last change tells more about a text's age than the day of its first appearance.
_CHANGED: Final = [
    "article:modified_time",
    "og:updated_time",
    "datemodified",
    "dcterms.modified",
    "dc.date.modified",
    "last-modified",
    "revised",
    "last_modified",
    "lastmod",
    "updated",
    "modified",
    "last-update",
    "last_updated",
]
_APPEARED: Final = [
    "article:published_time",
    "datepublished",
    "date",
    "dcterms.date",
    "dc.date",
    "dcterms.issued",
    "dcterms.created",
    "dc.date.issued",
    "dc.date.created",
    "citation_publication_date",
    "citation_date",
    "parsely-pub-date",
    "published",
    "pubdate",
    "publish_date",
    "created",
]
_AUTHORS: Final = [
    "author",
    "citation_author",
    "dc.creator",
    "dcterms.creator",
    "parsely-author",
    "article:author",
]
_BY: Final = re.compile(r"^by[: ]+", re.IGNORECASE)
_LINKED_DATA: Final = re.compile(r'"date(Modified|Published)"\s{0,9}:\s{0,9}"([0-9T:+-]{10,30})')
_DATED_CLASSES: Final = re.compile(
    r"\b(?:updated|published|pubdate|entry-date|post-date|dt-published|dt-updated)\b"
)

_MONTHS: Final = {
    name: number
    for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)  # noqa: SIM905
}
_MONTH: Final = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DAY: Final = re.compile(
    rf"(\d{{4}})[-/.](\d{{2}})[-/.](\d{{2}})|(\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?{_MONTH},? (\d{{4}})"
    rf"|{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})",
    re.IGNORECASE,
)
# At the beginning of a line, or of the text of an element: "the novel was published on …" dates no page.
_TOLD: Final = re.compile(
    r"(?:^[ \t(—–|·•*_]*|\bthis (?:page|article|document|post|guide|manual|file|version) (?:was|is|has been) )"  # noqa: RUF001
    r"(?:(last (?:updated|modified|changed|reviewed|revised)|updated|revised|(?:page )?generated)"
    r"|published|posted|written|first published|date)(?:[ \t]+(?:on|at))?\b:?\s*(?:\w{3,9},\s+)?",
    re.IGNORECASE | re.MULTILINE,
)

_SEPARATOR: Final = re.compile(r" +(?:[|·•»«–—]|::?|-) +| *[|»] *|: +")  # noqa: RUF001 - dashes between title and site
_SITE: Final = re.compile(
    r"(?:.*\b)?(?:documentation|docs|wiki|blog|home ?page|website)(?: v?\d[\w.]*)?|v?\d+(?:\.\d+)+(?: .{0,20})?",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"(?:(?:Chapter|Appendix|Part|Section) [\dA-Z]{1,4}[.:]|(?:[A-Z]\.)?(?:\d{1,3}\.)+) +"
    r"|(?:\d{1,3}\.)+\d{1,3} +(?=[A-Z])"
)
_PERMALINK: Final = " #¶§"

_PRINTED_DAY: Final = re.compile(r"(?:D:)?(\d{4})(\d{2})(\d{2})")
FIRST_YEAR: Final = 1993
"""Of the format; clocks that were never set tell earlier ones."""
_PRINTED_BY: Final = re.compile(
    r"^(?:Microsoft (?:Office )?(?:Word|PowerPoint|Excel)|(?:Libre|Open)Office(?:\.org)?) - "
)
_NO_TITLE: Final = re.compile(
    r"(?:untitled|no title|title|document|dokument|presentation|slide|(?:powerpoint|word) (?:presentation|document))[\s\d-]*"
    r"|[a-z]:\\.*|/.*|.*\.(?:docx?|odt|rtf|pdf|indd|tex|dvi|pptx?|xlsx?|qxd|pages|md|html?|txt|ps)",
    re.IGNORECASE,
)
_NOBODY: Final = re.compile(
    r"(?:unknown|author|user|owner|admin|administrator|root|default|none|anonymous|microsoft office user)[\s\d]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a file says about itself, besides its prose. `published_on`: when it was changed last, or else published."""

    title: str | None = None
    url: str | None = None
    licence: str | None = None
    published_on: date | None = None
    author: str | None = None
    robots: str = ""


def facts_of_page(root: "etree._Element") -> Facts:
    meta: dict[str, str] = {}
    robots: list[str] = []
    for element in root.iter("meta"):
        name = (element.get("name") or element.get("property") or element.get("itemprop") or "").lower()
        name = name or (element.get("http-equiv") or "").lower()
        if name and element.get("content"):
            meta.setdefault(name, one_line(element.get("content") or ""))
            if name in {"robots", "brandengine"}:
                robots.append(one_line((element.get("content") or "")[:MAX_NAME]))
    links: dict[str, str] = {}
    for element in root.iter("link", "a"):
        for relation in (element.get("rel") or "").lower().split():
            links.setdefault(relation, element.get("href") or "")
    title = root.find(".//title")
    return Facts(
        title=_page_title(
            _text(title) if title is not None else "",
            [_text(heading) for heading in root.iter("h1")],
            meta.get("og:site_name") or meta.get("application-name") or "",
        ),
        url=web_address(links.get("canonical")) or web_address(meta.get("og:url")),
        licence=meta.get("license")
        or meta.get("licence")
        or meta.get("dcterms.license")
        or links.get("license")
        or None,
        published_on=_dated(meta) or _dated(_times(root)) or _linked_data(root) or _told_by_page(root),
        author=next((found for name in _AUTHORS if (found := person(meta.get(name)))), None),
        robots=",".join(robots)[:MAX_NAME],
    )


def person(name: str | None) -> str | None:
    """Who wrote it, if that is a name: some put an address there, or a handle."""
    plain = _BY.sub("", one_line((name or "")[:MAX_NAME]), count=1)
    is_name = 1 < len(plain) <= MAX_AUTHOR and "://" not in plain and "@" not in plain
    return plain if is_name and any(map(str.isalpha, plain)) else None


def front_matter(text: str) -> tuple[Facts, str]:
    """What the lines between `---` at the beginning say, and the text that follows them."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return Facts(), text
    entries: dict[str, str] = {}
    for line in match[1].splitlines():
        key, colon, value = line.partition(":")
        if colon:
            entries[key.strip().lower()] = one_line(value.strip().strip("\"'"))
    return facts_of_entries(entries), text[match.end() :]


def facts_of_entries(entries: Mapping[str, str]) -> Facts:
    """What names in small letters and their values say, as in front matter or a list of fields."""
    return Facts(
        title=entries.get("title") or None,
        url=web_address(entries.get("url")),
        licence=entries.get("licence") or entries.get("license") or None,
        published_on=_dated(entries) or day(entries.get("revdate")),
        author=person(entries.get("author")),
    )


def facts_of_print(entries: Mapping[str, str]) -> Facts:
    """What the entries of a PDF say, by their names; programs fill them in unasked, so that much of it is none."""
    title = _PRINTED_BY.sub("", entries.get("/Title", ""))[:MAX_NAME]
    author = person(entries.get("/Author"))
    days = (_printed_day(entries.get(name, "")) for name in ("/ModDate", "/CreationDate"))
    return Facts(
        title=title if sum(map(str.isalpha, title)) > 1 and not _NO_TITLE.fullmatch(title) else None,
        author=author if author and not _NOBODY.fullmatch(author) else None,
        published_on=next(filter(None, days), None),
    )


def _printed_day(value: str) -> date | None:
    match = _PRINTED_DAY.match(value)
    found = day("-".join(match.groups())) if match else None
    return found if found and found.year >= FIRST_YEAR else None


def web_address(value: str | None) -> str | None:
    """Only addresses a published page may link to: http or https, with a host; without a user's name and password."""
    address = (value or "").strip()
    return None if len(address) > MAX_ADDRESS else public_link(address)


def licence(value: str | None) -> str | None:
    """Its name, or the address where it can be read."""
    return _CREDENTIALS.sub("//", (value or "")[:MAX_LICENCE]) or None


def day(value: str | None) -> date | None:
    """A day as people and machines write it: 2024-05-01, 1 May 2024, May 1st, 2024."""
    match = _DAY.match(value or "")
    if match is None:
        return None
    year, month, number, *_ = match.groups()
    if year is None:
        number, name = match[4] or match[8], match[5] or match[7]
        year, month = match[6] or match[9], str(_MONTHS[name.lower()])
    try:
        return date(int(year), int(month), int(number))
    except ValueError:
        return None


def told_day(text: str) -> date | None:
    """The day that a text tells in words, at its beginning or end: "Last updated on 1 May 2024"."""
    edges = text if len(text) <= 2 * EDGE else f"{text[:EDGE]}\n{text[-EDGE:]}"
    told = [
        (match[1] is not None, day(one_line(edges[match.end() : match.end() + 40])))
        for match in _TOLD.finditer(edges)
    ]
    changed = [each for is_change, each in told if each is not None and is_change]
    return max(changed, default=next((each for _, each in told if each is not None), None))


def without_number(title: str) -> str:
    """A title without its place in a book: "25.1. Vacuuming" is called "Vacuuming" elsewhere."""
    return title[match.end() :] if (match := _NUMBER.match(title)) and match.end() < len(title) else title


def _page_title(title: str, headings: list[str], site: str) -> str | None:
    """The page's own name, without that of the site it is on."""
    parts = [part for part in _SEPARATOR.split(title) if part]
    for heading in headings:
        # Some sites have their own name in a heading of the first level too, above that of the page.
        is_site = len(parts) > 1 and (_plain(heading) == _plain(site) or _SITE.fullmatch(heading))
        if heading and not is_site and any(_plain(heading) == _plain(part) for part in (title, *parts)):
            return without_number(heading)
    while len(parts) > 1 and (_plain(parts[-1]) == _plain(site) or _SITE.fullmatch(parts[-1])):
        title = title[: title.rindex(parts.pop())].rstrip(" |·•»«–—:-")  # noqa: RUF001 - as above
    if site and len(parts) > 1 and _plain(parts[0]) == _plain(site):
        title = title[len(parts[0]) :].lstrip(" |·•»«–—:-")  # noqa: RUF001 - as above
    return without_number(title) or None


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _text(element: "etree._Element") -> str:
    return one_line("".join(map(str, element.itertext()))[:MAX_NAME]).rstrip(_PERMALINK)


def _dated(entries: Mapping[str, str]) -> date | None:
    return next((found for name in (*_CHANGED, *_APPEARED) if (found := day(entries.get(name)))), None)


def _times(root: "etree._Element") -> dict[str, str]:
    """What elements `time` say of the page: those marked so, or the only one there is."""
    times = [element for element in root.iter("time") if element.get("datetime")]
    said: dict[str, str] = {}
    for element in times:
        marks = f"{element.get('itemprop') or ''} {element.get('class') or ''}".lower()
        if "modified" in marks or "updated" in marks:
            said.setdefault("datemodified", element.get("datetime") or "")
        elif "datepublished" in marks or element.get("pubdate") is not None or _DATED_CLASSES.search(marks):
            said.setdefault("datepublished", element.get("datetime") or "")
        elif len(times) == 1 or any(each.tag == "header" for each in element.iterancestors()):
            said.setdefault("date", element.get("datetime") or "")
    return said


def _linked_data(root: "etree._Element") -> date | None:
    said: dict[str, str] = {}
    for script in root.iter("script"):
        if (script.get("type") or "").lower() == "application/ld+json":
            for match in _LINKED_DATA.finditer(script.text or ""):
                said.setdefault(f"date{match[1].lower()}", match[2])
    return _dated(said)


def _told_by_page(root: "etree._Element") -> date | None:
    body = root.find("body")
    return told_day("\n".join(_seen(body if body is not None else root)))


def _seen(root: "etree._Element") -> Iterator[str]:
    # The service itself reads no page, and has 4 MB less without the parser; its reading processes have it already.
    from lxml import etree  # noqa: PLC0415

    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            yield element.tail or ""
        elif element.tag in {"script", "style", "template", "pre"}:
            walk.skip_subtree()
        else:
            yield element.text or ""
