"""Promises of the look of all public pages."""

import re
from importlib.resources import files

from chassis.http.public.rendering import ACCENT_COLOURS


def _luminance(colour: str) -> float:
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_text_colour_is_readable_on_every_ground() -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1, in both colour schemes and with every brand's accent."""
    css = (
        files("chassis.http.public")
        .joinpath("assets", "look.css")
        .read_text(encoding="utf-8")
        .partition("@media print")[0]
    )
    light, _, dark = css.partition("@media (prefers-color-scheme: dark)")
    for scheme in (light, dark):
        colours = re.findall(r"--(\w+): (#[0-9a-f]{6})", scheme)
        grounds = [value for name, value in colours if name in {"paper", "tint"}]
        texts = [value for name, value in colours if name in {"ink", "soft", "accent"}]
        assert (len(grounds), len(texts)) == (2, 2 + 6)
        if scheme == light:
            assert tuple(value for name, value in colours if name == "accent") == ACCENT_COLOURS
        for ground in grounds:
            for text in texts:
                low, high = sorted((_luminance(ground), _luminance(text)))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)
