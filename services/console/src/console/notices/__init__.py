"""Notices of finished actions on the next page, with an Undo where the services can take the action back."""

from console.notices.store import Notice, Undo, UndoAct, can_undo, told

__all__ = ["Notice", "Undo", "UndoAct", "can_undo", "told"]
