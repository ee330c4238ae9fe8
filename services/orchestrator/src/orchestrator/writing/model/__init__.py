"""The writer with a language model, of which only what its sources support is kept."""

from orchestrator.writing.model.chat import Chat
from orchestrator.writing.model.writer import ModelWriter

__all__ = ["Chat", "ModelWriter"]
