"""What a PDF says: a program that paints is run (`painting`), and of the lines on its pages a text is made (`paragraphs`)."""

from research.reading.pdf.painting import read
from research.reading.pdf.paragraphs import blocks_of, title_of

__all__ = ["blocks_of", "read", "title_of"]
