"""The judge: a model that checks what the rules on words cannot decide. It can only reject."""

from writing.model.judge.judge import Judge

__all__ = ["Judge"]
