"""Reads PDFs: `page_lines` collects the lines that the pages show, `paragraphs` turns them into text."""

from reading.pdf.page_lines import read_pdf
from reading.pdf.paragraphs import blocks_of, title_of

__all__ = ["blocks_of", "read_pdf", "title_of"]
