"""The writer without a model: it quotes the sources sentence by sentence."""

from writing.extractive.writer import ExtractiveWriter

__all__ = ["ExtractiveWriter"]
