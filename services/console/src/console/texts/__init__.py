"""Texts of all screens by language, and how times and numbers are written."""

from console.texts.catalogue import LANGUAGES, TextCatalogue, Texts, language_of

__all__ = ["LANGUAGES", "TextCatalogue", "Texts", "language_of"]
