"""The writer that uses a language model; it keeps only sentences that the sources support."""

from writing.model.chat import ChatModel
from writing.model.sections import VERDICTS
from writing.model.writer import SMALL_CONTEXT, ModelWriter

__all__ = ["SMALL_CONTEXT", "VERDICTS", "ChatModel", "ModelWriter"]
