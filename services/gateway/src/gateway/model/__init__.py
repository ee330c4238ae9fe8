"""Models with the API of OpenAI, paid by the token."""

from gateway.model.completions import ChatCompletions

__all__ = ["ChatCompletions"]
