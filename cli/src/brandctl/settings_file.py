"""The file with settings, `.env`: lines `NAME=value`, read as Docker Compose reads them."""

from pathlib import Path


def read_settings(path: Path) -> dict[str, str]:
    """Returns the settings of a file, without comments and without the quotes around a value.

    Raises:
        OSError, ValueError: the file cannot be read.
    """
    lines = [line.strip() for line in path.read_text().splitlines()]
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {name.strip(): _unquoted(value.strip()) for name, _, value in pairs}


def _unquoted(value: str) -> str:
    if value[:1] in {"'", '"'}:
        return value[1:].partition(value[0])[0]
    return "" if value.startswith("#") else value.partition(" #")[0].rstrip()
