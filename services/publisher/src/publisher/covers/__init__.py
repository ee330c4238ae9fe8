"""The picture of each article: its title on the brand's colour, drawn here, for its page and for links to it.

Entered here: `Cover` and `Format` say what there is, `Covers` has the files, `picture_of` is what is announced.
"""

from publisher.covers.announced import picture_of
from publisher.covers.cover import Cover, Format
from publisher.covers.serving import MOST_BYTES, Covers

__all__ = ["MOST_BYTES", "Cover", "Covers", "Format", "picture_of"]
