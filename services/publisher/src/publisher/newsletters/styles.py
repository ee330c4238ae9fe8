"""Inline styles: mail programs drop stylesheets."""

import re
from typing import Final

SERIF: Final = "Charter,Cambria,Georgia,serif"
SANS: Final = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
_TEXT: Final = f"font:17px/1.6 {SERIF};color:#23211d"
_STYLES: Final = {
    "p": f"margin:0 0 16px;{_TEXT}",
    "h2": f"margin:32px 0 12px;font:700 23px/1.25 {SERIF};color:#23211d",
    "h3": f"margin:26px 0 10px;font:700 19px/1.3 {SERIF};color:#23211d",
    "h4": f"margin:22px 0 8px;font:700 17px/1.3 {SERIF};color:#23211d",
    "ul": "margin:0 0 16px;padding-left:24px",
    "ol": "margin:0 0 16px;padding-left:24px",
    "li": f"margin:0 0 6px;{_TEXT}",
    "blockquote": "margin:0 0 16px;padding-left:16px;border-left:2px solid #dcd7cc",
    "pre": "margin:0 0 16px;padding:12px;background:#f3f0e9;white-space:pre-wrap;word-break:break-word",
    "code": "font:14px/1.5 Menlo,Consolas,monospace",
    "table": "margin:0 0 16px;border-collapse:collapse",
    "th": f"padding:6px 10px;border:1px solid #dcd7cc;text-align:left;font:700 15px/1.4 {SANS}",
    "td": f"padding:6px 10px;border:1px solid #dcd7cc;font:15px/1.4 {SANS}",
    "hr": "border:0;border-top:1px solid #dcd7cc;margin:32px 0",
}
_OPENING: Final = re.compile(rf"<({'|'.join(_STYLES)}|a)(?=[ >])")
_ANCHOR: Final = re.compile(r' (?:id|class|aria-label)="[^"]*"')
_WITHIN: Final = re.compile(r'href="#')


def with_styles(html: str, accent: str, page: str) -> str:
    """Adds styles to sanitised HTML of an article; links within the page get `page`, its address."""

    def styled(match: re.Match[str]) -> str:
        style = f"color:{accent}" if match[1] == "a" else _STYLES[match[1]]
        return f'<{match[1]} style="{style}"'

    return _OPENING.sub(styled, _WITHIN.sub(f'href="{page}#', _in_tags(html)))


def _in_tags(html: str) -> str:
    """Removes ids and classes, which only work with the page and its stylesheet."""
    return re.sub(r"<[^>]*>", lambda tag: _ANCHOR.sub("", tag[0]), html)
