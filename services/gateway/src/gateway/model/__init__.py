"""Models, asked as OpenAI's are, and paid by the token."""

from gateway.model.writing import Writing

__all__ = ["Writing"]
