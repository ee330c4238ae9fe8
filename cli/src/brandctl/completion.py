"""`brandctl completion`: scripts that complete commands and options at the Tab key.

The script is generated from the declared commands, so that the Tab key starts no Python. The parser has completion of its own, which
starts the command at each Tab: 0.7 s of processor time, or a container with `./brandctl`; and it does not complete `--state=wait`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import typer
from typer.models import ArgumentInfo, CommandInfo, OptionInfo
from typer.utils import get_params_from_function

from brandctl.app import assemble

NAME: Final = "brandctl"
FLAG: Final = None


@dataclass(frozen=True, slots=True)
class CommandCompletions:
    """The words and options that may follow a command or a group of commands."""

    path: tuple[str, ...]
    words: tuple[str, ...]
    """Names of commands, or the values of an argument that is a choice."""
    options: Mapping[str, tuple[str, ...] | None]
    """Option → its values; empty if it takes any value, `FLAG` if it takes none."""

    @property
    def said(self) -> str:
        return " ".join(self.path)


def places(app: typer.Typer, path: tuple[str, ...] = (NAME,)) -> Iterator[CommandCompletions]:
    """Yields the completions of all commands, each group before its commands."""
    commands = {_name(each): each.callback for each in app.registered_commands if not each.hidden}
    groups = {
        str(each.typer_instance.info.name): each.typer_instance
        for each in app.registered_groups
        if each.typer_instance is not None
    }
    itself = app.registered_callback.callback if app.registered_callback else None
    options = _command(path, itself).options if itself else {"--help": FLAG}
    yield CommandCompletions(path, (*groups, *commands), options)
    for name, group in groups.items():
        yield from places(group, (*path, name))
    for name, callback in commands.items():
        if callback is not None:
            yield _command((*path, name), callback)


def _name(command: CommandInfo) -> str:
    return command.name or getattr(command.callback, "__name__", "").replace("_", "-")


def _command(path: tuple[str, ...], callback: Callable[..., Any]) -> CommandCompletions:
    words: tuple[str, ...] = ()
    options: dict[str, tuple[str, ...] | None] = {"--help": FLAG}
    for name, declared in get_params_from_function(callback).items():
        kind, parameter = _of_one(declared.annotation), declared.default
        if isinstance(parameter, ArgumentInfo):
            words += _choices(kind)
        elif isinstance(parameter, OptionInfo) and not parameter.hidden:
            values = FLAG if kind is bool else _choices(kind)
            options |= dict.fromkeys(_spellings(name, kind, parameter), values)
    return CommandCompletions(path, words, options)


def _of_one(kind: Any) -> Any:
    """The type of one value, such as `ScopeChoice` of `list[ScopeChoice] | None`."""
    while get_origin(kind) is not Literal and (
        inner := [each for each in get_args(kind) if each is not type(None)]
    ):
        kind = inner[0]
    return kind


def _choices(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return tuple(map(str, get_args(kind)))
    return tuple(map(str, kind)) if isinstance(kind, type) and issubclass(kind, StrEnum) else ()


def _spellings(name: str, kind: Any, option: OptionInfo) -> list[str]:
    plain = name.replace("_", "-")
    usual = f"--{plain}/--no-{plain}" if kind is bool else f"--{plain}"
    return [each for declared in option.param_decls or (usual,) for each in declared.split("/")]


def bash(app: typer.Typer) -> str:
    found = list(places(app))
    known = "|".join(f"'{each.said}'" for each in found[1:])
    values = [
        (f"'{each.said} {option}'", " ".join(choices))
        for each in found
        for option, choices in each.options.items()
        if choices is not FLAG
    ]
    words = [(f"'{each.said}'", " ".join((*each.words, *each.options))) for each in found]
    return f"""\
# Completions of bash for {NAME}; made by `{NAME} completion bash`. Files are the fallback.
_{NAME}() {{
    local word words='' at={NAME} current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$at $word" in
        {known}) at="$at $word" ;;
        esac
    done
    # --state=waiting is three words to bash.
    if [ "$current" = '=' ]; then
        current=''
    elif [ "$before" = '=' ]; then
        before="${{COMP_WORDS[COMP_CWORD-2]}}"
    fi
    case "$at $before" in
{_cases(values)}
    *)
        case "$at" in
{_cases(words, indent=8)}
        esac
        ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _{NAME} {NAME}
"""


def _cases(pairs: list[tuple[str, str]], *, indent: int = 4) -> str:
    return "\n".join(f"{' ' * indent}{pattern}) words='{words}' ;;" for pattern, words in pairs)


def zsh(app: typer.Typer) -> str:
    return f"""\
#compdef {NAME}
# The function is bash's; zsh has a module that runs it.
autoload -U +X bashcompinit && bashcompinit
{bash(app)}"""


def fish(app: typer.Typer) -> str:
    found = list(places(app))
    known = " ".join(f"'{each.said}'" for each in found[1:])
    lines = [
        f"# Completions of fish for {NAME}; made by `{NAME} completion fish`.",
        f"function __{NAME}_at",
        f"    set -l at {NAME}",
        "    set -l words (commandline -opc)",
        "    set -e words[1]",
        "    for word in $words",
        '        switch "$at $word"',
        f"            case {known}",
        '                set at "$at $word"',
        "        end",
        "    end",
        '    test "$at" = "$argv"',
        "end",
    ]
    for each in found:
        here = f"complete -c {NAME} -n '__{NAME}_at {each.said}'"
        if each.words:
            lines.append(f"{here} -f -a '{' '.join(each.words)}'")
        for option, choices in each.options.items():
            named = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            value = "" if choices is FLAG else f" -x -a '{' '.join(choices)}'" if choices else " -r"
            lines.append(f"{here} {named}{value}")
    return "\n".join(lines) + "\n"


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


_SCRIPTS: Final = {Shell.BASH: bash, Shell.ZSH: zsh, Shell.FISH: fish}


def completion(shell: Annotated[Shell, typer.Argument(help="Your shell.", metavar="SHELL")]) -> None:
    """Prints a script that makes your shell complete brandctl's commands, options and values: bash, zsh or fish.

    For example:

        brandctl completion bash > ~/.local/share/bash-completion/completions/brandctl
        brandctl completion zsh > ~/.zsh/completions/_brandctl       # a folder of your fpath
        brandctl completion fish > ~/.config/fish/completions/brandctl.fish
    """
    typer.echo(_SCRIPTS[shell](assemble()), nl=False)
