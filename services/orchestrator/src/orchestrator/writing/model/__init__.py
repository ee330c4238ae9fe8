"""The writer with a language model, of which only what its sources support is kept."""

from orchestrator.writing.model.chat import ChatClient
from orchestrator.writing.model.sections import VERDICTS
from orchestrator.writing.model.writer import SMALL_CONTEXT, ModelWriter

__all__ = ["SMALL_CONTEXT", "VERDICTS", "ChatClient", "ModelWriter"]
