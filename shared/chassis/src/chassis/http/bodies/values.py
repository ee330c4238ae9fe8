"""Counts the fields and entries of a JSON document while it arrives, before parsing."""

import re
from typing import Final

_REST_OF_STRING: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_STRUCTURE: Final = re.compile(rb'["\[{,]')
_QUOTE: Final = ord('"')
_TOKENS_OF_A_VALUE: Final = 4
"""Maximum tokens of a value: comma, opening bracket, name and text."""


class TooManyValuesError(Exception):
    """The document exceeds the limit of fields and entries."""


class ValueCounter:
    """Counts the values of a document that arrives in pieces, and raises once there are too many.

    It counts separators, so the limit is approximate: a document with twice as many values may pass, one with five
    times as many cannot. It uses no memory, and counts JSON-like tokens of invalid documents too.

    Args:
        limit: fields and entries.
    """

    def __init__(self, limit: int) -> None:
        self._most = _TOKENS_OF_A_VALUE * limit + 2
        self._found = 0
        self._in_string = False
        self._is_escaped = False

    def feed(self, piece: bytes) -> None:
        """Count one piece. Raises TooManyValuesError."""
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
