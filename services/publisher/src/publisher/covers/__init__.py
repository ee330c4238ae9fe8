"""The picture of each article: its title on the brand's colour, for its page and for shared links.

Entry points: `Cover` and `Format` describe a picture, `Covers` serves the files, `picture_of` describes it in events.
"""

from publisher.covers.cover import Cover, Format
from publisher.covers.event_picture import picture_of
from publisher.covers.serving import MOST_BYTES, Covers

__all__ = ["MOST_BYTES", "Cover", "Covers", "Format", "picture_of"]
