"""The example stays short: both services and their catalogue have less than 150 lines."""

import io
import tokenize
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def lines_of_code(path: Path) -> int:
    """Lines that are neither blank nor comment nor docstring."""
    lines: set[int] = set()
    statement: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type not in NO_CODE:
            statement.append(token)
        elif token.type == tokenize.NEWLINE:
            if [each.type for each in statement] != [tokenize.STRING]:
                lines |= {line for each in statement for line in range(each.start[0], each.end[0] + 1)}
            statement = []
    return len(lines)


def test_two_services_and_their_catalogue_take_less_than_150_lines() -> None:
    counts = {
        str(path.relative_to(SOURCE)): lines_of_code(path)
        for package in ("shop", "orders", "payments")
        for path in (SOURCE / package).rglob("*.py")
    }
    assert sum(counts.values()) < 150, counts
