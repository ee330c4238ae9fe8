"""The options of `brandctl brands set`, from the definition of a brand's settings."""

import inspect
from collections.abc import Callable, Iterable
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import typer
from pydantic.fields import FieldInfo

from envelope.brand.settings import BrandSettings

_KINDS: Final = get_type_hints(BrandSettings)


def cleared_values() -> dict[str, Any]:
    """The values of cleared settings, by setting. A setting that always says something cannot be cleared."""
    return {
        name: [] if isinstance(field.default, tuple) else field.default
        for name, field in BrandSettings.model_fields.items()
        if field.default in {None, ""} or type(field.default) in {int, tuple}
    }


def choices(name: str, values: Iterable[str]) -> Any:
    """The type of an option with these values."""
    return StrEnum(name, {value: value for value in values})


def with_option_for_each_setting(
    *, but: frozenset[str]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command an option for each setting `but` these, and passes the values as keyword arguments."""

    def completed(command: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(command)
        taken = [
            each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        needed = [each for each in taken if each.default is each.empty]
        derived = [
            inspect.Parameter(name, needed[0].kind, default=None, annotation=_option(name, field))
            for name, field in BrandSettings.model_fields.items()
            if name not in but
        ]
        parameters = [*needed, *derived, *taken[len(needed) :]]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        return command

    return completed


def _option(name: str, field: FieldInfo) -> Any:
    least = next((limit.ge for limit in field.metadata if hasattr(limit, "ge")), None)
    most = next((limit.le for limit in field.metadata if hasattr(limit, "le")), None)
    option = typer.Option(help=(field.description or "").replace("`", ""), min=least, max=most)
    return Annotated[_kind(name, _KINDS[name]) | None, option]


def _kind(name: str, kind: Any) -> Any:
    """The type of an option's value: an enumeration of the values of a `Literal`, or else the setting's own type."""
    if get_origin(kind) is Literal:
        return choices(name, get_args(kind))
    inner = [each for each in get_args(kind) if each is not NoneType]
    return _kind(name, inner[0]) if inner else kind
