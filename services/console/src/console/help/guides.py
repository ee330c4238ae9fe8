"""The pages of `docs/connect`, from the installed package or, in a checkout, from its folder."""

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it.token import Token

_NAME: Final = re.compile(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*")
_NEIGHBOUR: Final = re.compile(r"([A-Za-z0-9-]+)\.md(#.*)?")


@cache
def _folder() -> Traversable:
    installed = files("console").joinpath("guides")
    return installed if installed.is_dir() else Path(str(files("console"))).parents[3] / "docs" / "connect"


@cache
def guide(name: str) -> tuple[str, str] | None:
    """Returns title and HTML of a page, or None if there is no such page. Links lead to neighbours and to the web."""
    if _NAME.fullmatch(name) is None or not (file := _folder().joinpath(f"{name}.md")).is_file():
        return None
    # Loaded when the first page is read: it takes 3 MB.
    from markdown_it import MarkdownIt  # noqa: PLC0415

    text = file.read_text(encoding="utf-8")
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table"])
    tokens = parser.parse(text)
    for token in tokens:
        _mend_links(token.children or [])
    return text.partition("\n")[0].removeprefix("# "), parser.renderer.render(tokens, parser.options, {})


def _mend_links(tokens: "list[Token]") -> None:
    """Links to pages that the console does not have become plain text."""
    opened: list[Token] = []
    for token in tokens:
        if token.type == "link_open":
            opened.append(token)
            target = str(token.attrs.get("href", ""))
            if (neighbour := _NEIGHBOUR.fullmatch(target)) is not None:
                token.attrs = {"href": neighbour[1]}
            elif target.startswith(("https://", "http://")):
                token.attrs = {"href": target, "rel": "noreferrer"}
            else:
                token.tag, token.attrs = "span", {}
        elif token.type == "link_close":
            token.tag = opened.pop().tag
