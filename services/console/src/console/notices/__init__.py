"""What was done, told on the page that follows, with an Undo where the services can take it back."""

from console.notices.store import Notice, Undo, UndoAct, can_undo, told

__all__ = ["Notice", "Undo", "UndoAct", "can_undo", "told"]
