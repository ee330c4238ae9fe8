"""Writes trees of variants as templates of Helm."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import yaml

from manifests.chart.variants import Branch, Leaf, ListNode, MapNode, MergeError, Node, SwitchNode

_OPEN, _CLOSE = "⟦", "⟧"
_TOKEN: Final = re.compile(f"{_OPEN}(.*?){_CLOSE}", re.DOTALL)
_STEP: Final = "  "
_WIDE: Final = 100_000


def text(expression: str) -> str:
    """Stands in a string for what this expression yields, without quotes."""
    return f"{_OPEN}text:{expression}{_CLOSE}"


def raw(expression: str) -> str:
    """Stands for a number."""
    return f"{_OPEN}raw:{expression}{_CLOSE}"


def tree(expression: str) -> str:
    """Stands for a mapping or a list that a value holds."""
    return f"{_OPEN}tree:{expression}{_CLOSE}"


def blocks(expression: str) -> str:
    """Stands for a list of `ipBlock`, one for each address range of a value."""
    return f"{_OPEN}blocks:{expression}{_CLOSE}"


def write(node: Node) -> str:
    """The template of one object."""
    return "\n".join(_lines(node, "")) + "\n"


def _lines(node: Node, indent: str) -> Iterator[str]:
    """As the lines of a block below a key, or of a whole document."""
    match node:
        case MapNode(branches):
            yield from _conditional(branches, indent, _field)
        case ListNode(branches):
            yield from _conditional(branches, indent, _item)
        case SwitchNode(branches):
            for index, branch in enumerate(branches):
                yield indent + _choosing(index, branch)
                yield from _lines(branch.node, indent)
            yield f"{indent}{{{{- end }}}}"
        case Leaf(value):
            raise MergeError(f"{value!r} stands where a block must")


def _conditional(
    branches: Iterable[Branch], indent: str, written: Callable[[Branch, str], Iterator[str]]
) -> Iterator[str]:
    """Neighbours with the same condition share it."""
    for condition, group in itertools.groupby(branches, key=lambda branch: branch.condition):
        if condition is not None:
            yield f"{indent}{{{{- if {condition} }}}}"
        for branch in group:
            yield from written(branch, indent)
        if condition is not None:
            yield f"{indent}{{{{- end }}}}"


def _field(branch: Branch, indent: str) -> Iterator[str]:
    yield from _headed(f"{indent}{_scalar(branch.key, '')}:", branch.node, indent)


def _headed(head: str, node: Node, indent: str) -> Iterator[str]:
    if isinstance(node, Leaf):
        yield from _valued(head, node.value, indent)
    elif isinstance(node, SwitchNode) and all(isinstance(each.node, Leaf) for each in node.branches):
        choosing = "".join(
            f"{_choosing(index, each).replace('{{-', '{{')}{_scalar(each.node.value, indent)}"
            for index, each in enumerate(node.branches)
            if isinstance(each.node, Leaf)
        )
        yield f"{head} {choosing}{{{{ end }}}}"
    else:
        yield head
        yield from _lines(node, indent + _STEP)


def _valued(head: str, value: Any, indent: str) -> Iterator[str]:
    found = _TOKEN.fullmatch(value) if isinstance(value, str) else None
    kind, _, expression = found[1].partition(":") if found else ("", "", "")
    below = indent + _STEP
    match kind:
        case "tree":
            yield f"{head} {{{{- toYaml {_operand(expression)} | nindent {len(below)} }}}}"
        case "blocks":
            yield head
            yield f"{below}{{{{- range {expression} }}}}"
            yield f"{below}- ipBlock: {{cidr: {{{{ . | quote }}}}}}"
            yield f"{below}{{{{- end }}}}"
        case _:
            yield f"{head} {_scalar(value, indent)}"


def _item(branch: Branch, indent: str) -> Iterator[str]:
    node = branch.node
    if not isinstance(node, MapNode):
        yield from _headed(f"{indent}-", node, indent)
        return
    first, *_ = node.branches
    if first.condition is not None:
        yield f"{indent}-"
        yield from _lines(node, indent + _STEP)
        return
    lines = iter(list(_lines(node, indent + _STEP)))
    yield f"{indent}- {next(lines)[len(indent) + len(_STEP) :]}"
    yield from lines


def _choosing(index: int, branch: Branch) -> str:
    if branch.condition is None:
        return "{{- else }}"
    return f"{{{{- {'else if' if index else 'if'} {branch.condition} }}}}"


def _operand(expression: str) -> str:
    return expression if re.fullmatch(r"[$.\w]+", expression) else f"({expression})"


def _scalar(value: Any, indent: str) -> str:
    if not isinstance(value, str):
        return yaml.safe_dump(value, default_flow_style=True, width=_WIDE).removesuffix("...\n").strip()
    found = _TOKEN.fullmatch(value)
    if found and found[1].startswith("raw:"):
        return f"{{{{ {found[1].removeprefix('raw:')} }}}}"
    if "\n" in value and _fits_a_block(value):
        keeping = {0: "|-", 1: "|"}.get(len(value) - len(value.rstrip("\n")), "|+")
        lines = value.rstrip("\n").split("\n") + [""] * (max(len(value) - len(value.rstrip("\n")) - 1, 0))
        return _filled("\n".join([keeping, *(indent + _STEP + line if line else "" for line in lines)]))
    style = '"' if _OPEN in value else None
    written = yaml.safe_dump(value, default_style=style, allow_unicode=True, width=_WIDE)
    return _filled(written.removesuffix("\n").removesuffix("\n..."))


def _fits_a_block(value: str) -> bool:
    return value[0] not in " \n" and all(line == line.rstrip() for line in value.split("\n"))


def _filled(written: str) -> str:
    """Braces of the text itself are written as text; then the expressions are put in."""
    parts = _TOKEN.split(written)
    # Between two expressions there is always a part, be it empty.
    parts[::2] = [part.replace("{{", '{{ "{{" }}') for part in parts[::2]]
    # In a string with quotes, those of the expression were written for YAML.
    parts[1::2] = [f"{{{{ {part.partition(':')[2]} }}}}".replace('\\"', '"') for part in parts[1::2]]
    return "".join(parts)
