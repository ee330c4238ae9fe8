"""Calls and fields in a page's templates, at less cost than Jinja's own: a page has some thousand of them."""

from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, Final

from jinja2 import Environment
from jinja2.runtime import Context, Macro

from console.texts import Texts

_PLAIN: Final = frozenset({Texts, MethodType, BuiltinMethodType})
"""What pages call most: texts, and methods such as those that write addresses and times. None wants the context."""
_WANTS_CONTEXT: Final = "jinja_pass_arg"
"""What Jinja's decorators leave on a function."""
_METHODS: Final = frozenset(dir(dict))


class PageContext(Context):
    """Jinja's context, which needs longer for a call than most functions of a page do."""

    def call(self, called: Any, *args: Any, **kwargs: Any) -> Any:
        kind = type(called)
        if kind in _PLAIN or (kind is FunctionType and not hasattr(called, _WANTS_CONTEXT)):
            kwargs.pop("_block_vars", None)
            kwargs.pop("_loop_vars", None)
            return called(*args, **kwargs)
        if kind is Macro:
            kwargs.pop("_block_vars", None)
            kwargs.pop("_loop_vars", None)
            return called(self.eval_ctx, *args, **kwargs)
        return super().call(called, *args, **kwargs)


class PageEnvironment(Environment):
    """Jinja's environment, which looks for a method before it looks for a field, and finds none in most answers of the services."""

    context_class = PageContext

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, dict) and attribute in obj and attribute not in _METHODS:
            return obj[attribute]
        return super().getattr(obj, attribute)
