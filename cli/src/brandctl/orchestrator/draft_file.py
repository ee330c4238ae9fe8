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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from brandctl.errors import CommandError

FIELDS: Final = ("Version", "Title", "Description", "Address", "Key point")


class DraftFileError(CommandError):
    """The file is no valid draft; the message names the line."""


@dataclass(frozen=True, slots=True)
class DraftFile:
    version: int
    """The version that was edited."""
    title: str
    description: str
    address: str
    key_points: tuple[str, ...]
    body: str

    @classmethod
    def of(cls, version: dict[str, Any]) -> Self:
        """Makes the draft from the orchestrator's answer about a version."""
        return cls(
            version=int(version["version"]),
            title=version["title"],
            description=version["meta_description"],
            address=version["slug"],
            key_points=tuple(version["key_points"]),
            body=version["body_markdown"].rstrip("\n"),
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses the edited file.

        Raises:
            DraftFileError: a line before the text is no field, a field is missing or repeated, or there is no text.
        """
        head, _, body = text.replace("\r\n", "\n").lstrip("\n").partition("\n\n")
        found: dict[str, list[str]] = {name: [] for name in FIELDS}
        for number, line in enumerate(head.split("\n"), 1):
            name, colon, value = line.partition(":")
            if not colon or name.strip() not in found:
                raise DraftFileError(
                    f"line {number} is no field: {line[:60]!r}; the lines before the first blank line are {', '.join(FIELDS)}"
                )
            found[name.strip()].append(value.strip())
        for name in FIELDS[:-1]:
            if len(found[name]) != 1:
                raise DraftFileError(f"{name}: found {len(found[name])} times; write it once")
        if not found["Version"][0].isdecimal():
            raise DraftFileError(
                f"Version: {found['Version'][0][:20]!r} is no number; restore the original one"
            )
        if not body.strip():
            raise DraftFileError("there is no text below the fields: leave one blank line between them")
        return cls(
            version=int(found["Version"][0]),
            title=found["Title"][0],
            description=found["Description"][0],
            address=found["Address"][0],
            key_points=tuple(point for point in found["Key point"] if point),
            body=body.strip("\n"),
        )

    def __str__(self) -> str:
        points = "".join(f"Key point: {point}\n" for point in self.key_points)
        return (
            f"Version: {self.version}\nTitle: {self.title}\nDescription: {self.description}\n"
            f"Address: {self.address}\n{points}\n{self.body}\n"
        )

    def as_request(self, comment: str) -> dict[str, Any]:
        return {
            "version": self.version,
            "title": self.title,
            "meta_description": self.description,
            "slug": self.address,
            "key_points": list(self.key_points),
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
