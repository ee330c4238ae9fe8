r"""Markdown that every renderer shows alike: no HTML, no template language, no references.

An article's Markdown quotes the open web. Other renderers pass HTML, and run templates first (Jekyll, Eleventy, Hugo,
Dev.to). So this module parses it and writes it anew, with every ambiguous character escaped.
"""

import re
from collections.abc import Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from chassis.links import public_link
from publisher.domain import Article, CitedSource

_SPECIAL: Final = re.compile(r"[\\`*_\[\]#+~|!>=-]")
_ENTITIES: Final = {"<": "&lt;", "&": "&amp;", "{": "&#123;", "}": "&#125;", "$": "&#36;"}


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable("reference")
    return parser


def markdown_of(article: Article) -> str:
    """The body, the note on how it was made, and the sources."""
    parts = [rewrite_markdown(article.body_markdown)]
    if note := article.note:
        parts.append(f"*{_escaped(note)}*")
    if article.sources:
        items = sorted(article.sources, key=lambda source: source.n)
        parts.append("## Sources")
        parts.append("\n".join(f"{source.n}. {_source(source)}" for source in items))
    return "\n\n".join(parts) + "\n"


def rewrite_markdown(markdown: str) -> str:
    """The same text, escaped so that no part reads as HTML or as a template."""
    return _blocks(SyntaxTreeNode(_PARSER.parse(markdown)).children)


def _source(source: CitedSource) -> str:
    name = _escaped(source.name)
    named = f"[{name}]({_address(source.link)})" if source.link else name
    return f"{named} ({_escaped(source.licence)})" if source.licence else named


def _blocks(nodes: Sequence[SyntaxTreeNode], gap: str = "\n\n") -> str:
    return gap.join(filter(None, map(_block, nodes)))


def _block(node: SyntaxTreeNode) -> str:  # noqa: PLR0911  (one for each kind)
    match node.type:
        case "paragraph":
            return _inline(node)
        case "heading":
            return f"{'#' * max(int(node.tag[1]), 2)} {_inline(node)}"
        case "blockquote":
            return _prefixed(_blocks(node.children), "> ")
        case "bullet_list":
            return _items(node, ["- "] * len(node.children))
        case "ordered_list":
            start = int(node.attrs.get("start", 1))
            return _items(node, [f"{start + place}. " for place in range(len(node.children))])
        case "fence" | "code_block":
            return _fenced(node.content, node.info if node.type == "fence" else "")
        case "table":
            return _table(node)
        case "hr":
            return "---"
        case _:
            return _inline(node)


def _items(node: SyntaxTreeNode, bullets: Sequence[str]) -> str:
    items = []
    for bullet, item in zip(bullets, node.children, strict=True):
        tight = all(child.type != "paragraph" or child.hidden for child in item.children)
        text = _prefixed(_blocks(item.children, "\n" if tight else "\n\n"), " " * len(bullet))
        items.append(bullet + text[len(bullet) :])
    return "\n".join(items)


def _prefixed(text: str, prefix: str) -> str:
    return "\n".join((prefix + line).rstrip() if line else prefix.rstrip() for line in text.split("\n"))


def _fenced(content: str, info: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    language = re.sub(r"[^A-Za-z0-9+#-]", "", info.split(maxsplit=1)[0]) if info.split() else ""
    return f"{fence}{language}\n{content.rstrip(chr(10))}\n{fence}"


def _table(node: SyntaxTreeNode) -> str:
    rows = [[_inline(cell) for cell in row.children] for part in node.children for row in part.children]
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])


def _inline(node: SyntaxTreeNode) -> str:
    if node.type == "inline" or node.children:
        return "".join(_inline(child) if child.type == "inline" else _span(child) for child in node.children)
    return _escaped(node.content or "") if hasattr(node, "content") else ""


def _span(node: SyntaxTreeNode) -> str:  # noqa: PLR0911  (one for each kind)
    match node.type:
        case "text" | "text_special" | "image" | "html_inline":
            return _escaped(node.content)
        case "softbreak":
            return "\n"
        case "hardbreak":
            return "\\\n"
        case "code_inline":
            return _code(node.content)
        case "em":
            return f"*{_inline(node)}*"
        case "strong":
            return f"**{_inline(node)}**"
        case "s":
            return f"~~{_inline(node)}~~"
        case "link":
            link = public_link(str(node.attrs.get("href") or ""))
            return f"[{_inline(node)}]({_address(link)})" if link else _inline(node)
        case _:
            return _inline(node)


def _code(content: str) -> str:
    """Code with braces or backticks becomes plain text: templates run within code, too."""
    if "{" in content or "`" in content:
        return _escaped(content)
    return f"`{content}`"


def _escaped(text: str) -> str:
    escaped = _SPECIAL.sub(lambda found: f"\\{found[0]}", text)
    # A number with a dot would start a list.
    escaped = re.sub(r"^(\d+)([.)])", r"\1\\\2", escaped)
    return "".join(_ENTITIES.get(character, character) for character in escaped)


def _address(link: str) -> str:
    for character, code in {
        "(": "%28",
        ")": "%29",
        "<": "%3C",
        ">": "%3E",
        " ": "%20",
        "{": "%7B",
        "}": "%7D",
        "\\": "%5C",
    }.items():
        link = link.replace(character, code)
    return link


_PARSER: Final = _parser()
