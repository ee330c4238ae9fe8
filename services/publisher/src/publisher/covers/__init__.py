"""The picture of each article, in the brand's colour: for its page, lists, shared links and posts.

Entry points: `Cover` and `Format` describe a picture, `Covers` serves the files, `picture_of` describes it in events.
"""

from publisher.covers.cover import Cover, Format
from publisher.covers.event_picture import picture_of
from publisher.covers.serving import MOST_BYTES, Covers
from publisher.covers.store import cover_of_row

__all__ = ["MOST_BYTES", "Cover", "Covers", "Format", "cover_of_row", "picture_of"]
