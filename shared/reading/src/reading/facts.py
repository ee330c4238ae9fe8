"""Reads the facts that a document states about itself: title, address, licence, author, date. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final

from reading.cleaning import one_line

if TYPE_CHECKING:
    from lxml import etree

MAX_LICENCE: Final = 200
MAX_ADDRESS: Final = 2000
MAX_AUTHOR: Final = 120
MAX_NAME: Final = 300
"""Characters to use of a title or heading."""
EDGE: Final = 4000
"""Characters at the beginning and at the end of a text that may state its date."""

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_CREDENTIALS = re.compile(r"//[^\s/?#]*@")
_WEB_ADDRESS = re.compile(
    r"(https?://)(?:[^\s\\/?#\x00-\x20\x7f]*@)?"
    r"((?:[^\s\\/?#@:\[\]\x00-\x20\x7f]+|\[[0-9a-f:.]+\])(?::0*[1-9]\d{0,4})?(?:[/?#][^\s\\\x00-\x20\x7f]*)?)",
    re.IGNORECASE,
)

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
# Only at the beginning of a line or of an element's text: "the novel was published on …" does not date the page.
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
    r"(?:(?:Chapter|Appendix|Part|Section) [\dA-Z]{1,4}(?:[.:]| +[-–—])|(?:[A-Z]\.)?(?:\d{1,3}\.)+) +"  # noqa: RUF001 - dashes
    r"|(?:\d{1,3}\.)+\d{1,3} +(?=[A-Z])"
)
PERMALINK: Final = " #¶§◆\uf0c1"
"""What stands in a heading for the link to its own place."""

_PRINTED_DAY: Final = re.compile(r"(?:D:)?(\d{4})(\d{2})(\d{2})")
FIRST_YEAR: Final = 1993
"""Year of the first PDFs; earlier dates come from clocks that were never set."""
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
class DocumentFacts:
    """A file's statements about itself, outside its prose. `published_on`: day of the last change, else of publication."""

    title: str | None = None
    url: str | None = None
    licence: str | None = None
    published_on: date | None = None
    author: str | None = None
    robots: str = ""


def facts_of_page(root: "etree._Element") -> DocumentFacts:
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
    shown = _text(title) if title is not None else ""
    if meta.get("generator", "").lower().startswith(("makeinfo", "texi2any")) and shown.endswith(")"):
        # It puts the manual in brackets behind the title of each page.
        shown = shown.partition(" (")[0]
    return DocumentFacts(
        title=_page_title(
            shown,
            [_text(heading) for heading in root.iter("h1")],
            meta.get("og:site_name") or meta.get("application-name") or "",
        ),
        url=web_address(links.get("canonical")) or web_address(meta.get("og:url")),
        licence=meta.get("license")
        or meta.get("licence")
        or meta.get("dcterms.license")
        or links.get("license")
        or None,
        published_on=_first_date(meta)
        or _first_date(_time_elements(root))
        or _linked_data_date(root)
        or _stated_date(root),
        author=next((found for name in _AUTHORS if (found := author_name(meta.get(name)))), None),
        robots=",".join(robots)[:MAX_NAME],
    )


def author_name(name: str | None) -> str | None:
    """Return the author if it is a name; None for an address or a handle."""
    plain = _BY.sub("", one_line((name or "")[:MAX_NAME]), count=1)
    is_name = 1 < len(plain) <= MAX_AUTHOR and "://" not in plain and "@" not in plain
    return plain if is_name and any(map(str.isalpha, plain)) else None


def split_front_matter(text: str) -> tuple[DocumentFacts, str]:
    """Return the facts of the front matter (between `---` lines), and the text after it."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return DocumentFacts(), text
    entries: dict[str, str] = {}
    for line in match[1].splitlines():
        key, colon, value = line.partition(":")
        if colon:
            entries[key.strip().lower()] = one_line(value.strip().strip("\"'"))
    return facts_of_entries(entries), text[match.end() :]


def facts_of_entries(entries: Mapping[str, str]) -> DocumentFacts:
    """Return the facts from entries with lower-case names, as in front matter or a list of fields."""
    return DocumentFacts(
        title=entries.get("title") or None,
        url=web_address(entries.get("url")),
        licence=entries.get("licence") or entries.get("license") or None,
        published_on=_first_date(entries) or parse_date(entries.get("revdate")),
        author=author_name(entries.get("author")),
    )


def facts_of_pdf(entries: Mapping[str, str]) -> DocumentFacts:
    """Return the facts from the metadata of a PDF, without the placeholders that programs fill in."""
    title = _PRINTED_BY.sub("", entries.get("/Title", ""))[:MAX_NAME]
    author = author_name(entries.get("/Author"))
    days = (_pdf_date(entries.get(name, "")) for name in ("/ModDate", "/CreationDate"))
    return DocumentFacts(
        title=title if sum(map(str.isalpha, title)) > 1 and not _NO_TITLE.fullmatch(title) else None,
        author=author if author and not _NOBODY.fullmatch(author) else None,
        published_on=next(filter(None, days), None),
    )


def _pdf_date(value: str) -> date | None:
    match = _PRINTED_DAY.match(value)
    found = parse_date("-".join(match.groups())) if match else None
    return found if found and found.year >= FIRST_YEAR else None


def web_address(value: str | None) -> str | None:
    """Return an http or https address, without credentials, else None."""
    address = (value or "").strip()
    match = _WEB_ADDRESS.fullmatch(address) if len(address) <= MAX_ADDRESS else None
    return match and match[1] + match[2]


def licence_text(value: str | None) -> str | None:
    """Return the name or address of a licence, without credentials; None if empty."""
    return _CREDENTIALS.sub("//", (value or "")[:MAX_LICENCE]) or None


def parse_date(value: str | None) -> date | None:
    """Parse a date at the beginning of a text: 2024-05-01, 1 May 2024, May 1st, 2024."""
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


def find_stated_date(text: str) -> date | None:
    """Return the date that a text states at its beginning or end: "Last updated on 1 May 2024"."""
    edges = text if len(text) <= 2 * EDGE else f"{text[:EDGE]}\n{text[-EDGE:]}"
    told = [
        (match[1] is not None, parse_date(one_line(edges[match.end() : match.end() + 40])))
        for match in _TOLD.finditer(edges)
    ]
    changed = [each for is_change, each in told if each is not None and is_change]
    return max(changed, default=next((each for _, each in told if each is not None), None))


def strip_section_number(title: str) -> str:
    """Return a title without its section number: "25.1. Vacuuming" gives "Vacuuming"."""
    return title[match.end() :] if (match := _NUMBER.match(title)) and match.end() < len(title) else title


def _page_title(title: str, headings: list[str], site: str) -> str | None:
    """Return the page's title without the name of its site."""
    parts = [part for part in _SEPARATOR.split(title) if part]
    starts = [title[: match.start()] for match in _SEPARATOR.finditer(title)]
    for heading in headings:
        # Some sites repeat their own name in a first-level heading above the page's title.
        is_site = len(parts) > 1 and (_plain(heading) == _plain(site) or _SITE.fullmatch(heading))
        if (
            heading
            and not is_site
            and any(_plain(heading) == _plain(part) for part in (title, *parts, *starts))
        ):
            return strip_section_number(heading)
    while len(parts) > 1 and (_plain(parts[-1]) == _plain(site) or _SITE.fullmatch(parts[-1])):
        title = title[: title.rindex(parts.pop())].rstrip(" |·•»«–—:-")  # noqa: RUF001 - as above
    if site and len(parts) > 1 and _plain(parts[0]) == _plain(site):
        title = title[len(parts[0]) :].lstrip(" |·•»«–—:-")  # noqa: RUF001 - as above
    return strip_section_number(title) or None


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _text(element: "etree._Element") -> str:
    return one_line("".join(map(str, element.itertext()))[:MAX_NAME]).rstrip(PERMALINK)


def _first_date(entries: Mapping[str, str]) -> date | None:
    return next((found for name in (*_CHANGED, *_APPEARED) if (found := parse_date(entries.get(name)))), None)


def _time_elements(root: "etree._Element") -> dict[str, str]:
    """Return the dates of the page's `time` elements: the marked ones, or the only one."""
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


def _linked_data_date(root: "etree._Element") -> date | None:
    said: dict[str, str] = {}
    for script in root.iter("script"):
        if (script.get("type") or "").lower() == "application/ld+json":
            for match in _LINKED_DATA.finditer(script.text or ""):
                said.setdefault(f"date{match[1].lower()}", match[2])
    return _first_date(said)


def _stated_date(root: "etree._Element") -> date | None:
    body = root.find("body")
    return find_stated_date("\n".join(_visible_texts(body if body is not None else root)))


def _visible_texts(root: "etree._Element") -> Iterator[str]:
    # Imported here: a program that leaves the parsing to the pool saves 4 MB; the reading processes load it anyway.
    from lxml import etree  # noqa: PLC0415

    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            yield element.tail or ""
        elif element.tag in {"script", "style", "template", "pre"}:
            walk.skip_subtree()
        else:
            yield element.text or ""
