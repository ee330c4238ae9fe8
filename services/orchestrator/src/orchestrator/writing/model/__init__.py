"""The writer that uses a language model; it keeps only sentences that the sources support."""

from orchestrator.writing.model.chat import ChatClient
from orchestrator.writing.model.sections import VERDICTS
from orchestrator.writing.model.writer import SMALL_CONTEXT, ModelWriter

__all__ = ["SMALL_CONTEXT", "VERDICTS", "ChatClient", "ModelWriter"]
