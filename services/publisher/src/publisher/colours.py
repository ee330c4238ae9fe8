"""Colour arithmetic for readable text: luminance, contrast and mixing."""

from typing import Final

RGB = tuple[int, int, int]

_LINEAR_BELOW: Final = 0.04045
WHITE: Final[RGB] = (255, 255, 255)
BLACK: Final[RGB] = (0, 0, 0)


def parse(colour: str) -> RGB:
    """Red, green and blue (0 to 255) of a colour such as `#8a4b2a`."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def luminance(colour: RGB) -> float:
    """Relative luminance, 0 to 1 (WCAG 2.2)."""
    shares = [channel / 255 for channel in colour]
    red, green, blue = (s / 12.92 if s <= _LINEAR_BELOW else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: RGB, other: RGB) -> float:
    """Contrast ratio, 1 to 21 (WCAG 2.2); text needs 4.5."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def readable_on(ground: RGB) -> RGB:
    """White or black, the one with more contrast; at least 4.58 to 1 on any colour."""
    return max(WHITE, BLACK, key=lambda text: contrast(text, ground))


def mixed(one: RGB, other: RGB, share: float) -> RGB:
    """A mix of two colours; `share` is the part of the other one, 0 to 1."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue
