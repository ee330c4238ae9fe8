"""The second reader: a model that is asked whether passages say what code cannot tell for sure. It may only reject."""

from orchestrator.writing.model.judge.judge import Judge

__all__ = ["Judge"]
