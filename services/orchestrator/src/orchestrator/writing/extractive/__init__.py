"""The writer without a model: it quotes the sources sentence by sentence."""

from orchestrator.writing.extractive.writer import ExtractiveWriter

__all__ = ["ExtractiveWriter"]
