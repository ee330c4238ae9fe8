"""The context of a page's templates: calls their functions without a look at whether they want the context."""

from types import MethodType
from typing import Any, Final

from jinja2.runtime import Context, Macro

from console.texts import Texts

_PLAIN: Final = frozenset({Texts, MethodType})
"""What pages call some hundred times: texts, and methods such as those that write addresses and times. None wants the context."""


class PageContext(Context):
    """Jinja's context, which needs longer for a call than most functions of a page do."""

    def call(self, called: Any, *args: Any, **kwargs: Any) -> Any:
        kind = type(called)
        if kind in _PLAIN:
            kwargs.pop("_block_vars", None)
            kwargs.pop("_loop_vars", None)
            return called(*args, **kwargs)
        if kind is Macro:
            kwargs.pop("_block_vars", None)
            kwargs.pop("_loop_vars", None)
            return called(self.eval_ctx, *args, **kwargs)
        return super().call(called, *args, **kwargs)
