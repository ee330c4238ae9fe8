"""A draft as a Markdown file that a person edits: fields, a blank line, the text.

Version: 2
Title: Cold brew
Description: How to steep it.
Address: cold-brew
Key point: Twelve hours are enough.

## Time
…
"""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, get_origin, get_type_hints

from brandctl.errors import CommandError
from envelope.brand.article import LABELS, ArticleText, field_lines

FIELDS: Final = {"Version": "version", **{label: name for name, label in LABELS.items()}}
"""Fields of the article's API by their names in the file."""
LISTS: Final = frozenset(name for name in LABELS if get_origin(get_type_hints(ArticleText)[name]) is tuple)


class DraftFileError(CommandError):
    """The file is no valid draft; the message names the line."""


@dataclass(frozen=True, slots=True)
class DraftFile:
    version: int
    """The version that was edited."""
    fields: Mapping[str, str | Sequence[str]]
    """By their names in the API."""
    body: str

    @classmethod
    def of(cls, version: Mapping[str, Any]) -> Self:
        """Makes the draft from the orchestrator's answer about a version."""
        fields = {name: "" if version[name] is None else version[name] for name in LABELS}
        return cls(int(version["version"]), fields, version["body_markdown"].rstrip("\n"))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses the edited file.

        Raises:
            DraftFileError: a line before the text is no field, a field is missing or repeated, or there is no text.
        """
        head, _, body = text.replace("\r\n", "\n").lstrip("\n").partition("\n\n")
        found: dict[str, list[str]] = {label: [] for label in FIELDS}
        for number, line in enumerate(head.split("\n"), 1):
            label, colon, value = line.partition(":")
            if not colon or label.strip() not in found:
                raise DraftFileError(
                    f"line {number} is no field: {line[:60]!r}; the lines before the first blank line are {', '.join(FIELDS)}"
                )
            found[label.strip()].append(value.strip())
        fields: dict[str, str | Sequence[str]] = {}
        for label, values in found.items():
            if FIELDS[label] in LISTS:
                fields[FIELDS[label]] = [value for value in values if value]
            elif len(values) == 1:
                fields[FIELDS[label]] = values[0]
            else:
                raise DraftFileError(f"{label}: found {len(values)} times; write it once")
        version = str(fields.pop("version"))
        if not version.isdecimal():
            raise DraftFileError(f"Version: {version[:20]!r} is no number; restore the original one")
        if not body.strip():
            raise DraftFileError("there is no text below the fields: leave one blank line between them")
        return cls(int(version), fields, body.strip("\n"))

    def __str__(self) -> str:
        return f"Version: {self.version}\n{field_lines(self.fields)}\n{self.body}\n"

    def as_request(self, comment: str) -> dict[str, Any]:
        return {
            "version": self.version,
            **self.fields,
            "body_markdown": f"{self.body}\n",
            "comment": comment,
        }


class EditorError(CommandError):
    """The editor cannot be started, or ended with an error."""


def edited(text: str) -> Path | None:
    """Opens the text in the editor; returns the file with the edited text, None if nothing changed.

    Raises:
        EditorError: there is no editor, or it failed; an unchanged file is removed then.
    """
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "editor")
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="draft-", suffix=".md", delete=False
    ) as opened:
        opened.write(text)
    path = Path(opened.name)
    try:
        done = subprocess.run([*command, str(path)], check=False)  # noqa: S603  (the editor that its user names)
    except OSError as error:
        path.unlink()
        raise EditorError(
            f"{command[0]} cannot be run ({error.strerror}): set EDITOR to your editor"
        ) from error
    if path.read_bytes() == text.encode():
        path.unlink()
        return None
    if done.returncode != 0:
        raise EditorError(
            f"{command[0]} ended with {done.returncode}; what you wrote is in {path}, and was not sent"
        )
    return path
