"""What must not leave a process in a text that people will read."""

import re
from typing import Final

_CREDENTIALS: Final = re.compile(r"(?<=://)[^/\s@]+(?=@)")


def redacted(text: str) -> str:
    """Without user names and passwords in URLs: error messages of clients love to repeat them."""
    return _CREDENTIALS.sub("***", text)
