"""Counting the fields and entries of a JSON document while it arrives, before anybody builds it."""

import re
from typing import Final

_REST_OF_STRING: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_STRUCTURE: Final = re.compile(rb'["\[{,]')
_QUOTE: Final = ord('"')
_TOKENS_OF_A_VALUE: Final = 4
"""At most: its comma, what opens it, its name and its text."""


class TooManyValuesError(Exception):
    """The document has more fields and entries than it may."""


class ValueCounter:
    """Reads a document in pieces, and stops at the first that shows that it has too many values.

    It counts what separates values, and so a little generously: a document with twice as many may pass, one with five
    times as many does not. It takes no memory, and for what is no JSON it counts what looks like it.

    Args:
        limit: fields and entries.
    """

    def __init__(self, limit: int) -> None:
        self._most = _TOKENS_OF_A_VALUE * limit + 2
        self._found = 0
        self._in_string = False
        self._is_escaped = False

    def feed(self, piece: bytes) -> None:
        """Raises TooManyValuesError."""
        place = 0
        if self._is_escaped and piece:
            self._is_escaped, place = False, 1
        while place < len(piece):
            if self._in_string:
                place = self._leave_string(piece, place)
                continue
            token = _STRUCTURE.search(piece, place)
            if token is None:
                return
            place = token.end()
            self._in_string = piece[token.start()] == _QUOTE
            self._found += 1
            if self._found > self._most:
                raise TooManyValuesError

    def _leave_string(self, piece: bytes, place: int) -> int:
        rest = _REST_OF_STRING.match(piece, place)
        assert rest is not None  # it matches nothing, too
        end = rest.end()
        if end < len(piece):
            if piece[end] == _QUOTE:
                self._in_string = False
            else:  # the piece ends in the middle of an escape
                self._is_escaped = True
            end += 1
        return end
