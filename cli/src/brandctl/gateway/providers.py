"""`brandctl providers`: search engines and models that the gateway pays, and their keys."""

import sys
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.errors import CommandError, UsageError
from brandctl.gateway.client import GatewayClient, GatewayUrl
from brandctl.tables import show_table
from brandctl.terminal import note, print_json
from integrations.providers import PROVIDER_KINDS, ProviderKind

app = typer.Typer(
    name="providers",
    no_args_is_help=True,
    help=f"""Connects the search engines and models that the gateway may call, with their keys.

A key is read from standard input or a file and stored encrypted; only its last four characters are shown again.

{GatewayClient.help()}

For example:

    brandctl providers connect brave < brave.key
    brandctl providers connect searxng --url http://searxng:8080 --no-key
    brandctl providers connect model --url https://api.openai.com/v1 --model NAME --read-price 0.25 --written-price 2 < model.key
    brandctl providers list
""",
)

_STDIN: Final = Path("-")
Kind = Annotated[ProviderKind, typer.Argument(metavar="|".join(PROVIDER_KINDS))]


@app.command("list")
def list_providers(as_json: AsJson = False, gateway_url: GatewayUrl = None, key_file: KeyFile = None) -> None:
    """Lists the connected providers; exit code 1 if there are none."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        found = gateway.call("GET", "/providers")
    if as_json:
        print_json(found)
    elif found["items"]:
        show_table(
            ("name", "kind", "address", "key", "since", "settings"),
            [
                (
                    each["name"],
                    each["kind"],
                    each["settings"]["url"],
                    _key(each),
                    "environment"
                    if each["from_environment"]
                    else (each["key_set_at"] or "")[:19].replace("T", " "),
                    ", ".join(
                        f"{name} {value}"
                        for name, value in each["settings"].items()
                        if name != "url" and value is not None
                    ),
                )
                for each in found["items"]
            ],
        )
    if not found["items"]:
        raise CommandError("No provider is connected: nothing leaves this machine.")


@app.command()
def connect(
    kind: Kind,
    name: Annotated[str | None, typer.Option(help="What it is called.", show_default="its kind")] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Address of the provider; for a model, the part before /chat/completions."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model, as its provider calls it.")] = None,
    price: Annotated[str | None, typer.Option(help="Dollars per search.")] = None,
    read_price: Annotated[str | None, typer.Option(help="Dollars per million tokens read.")] = None,
    written_price: Annotated[str | None, typer.Option(help="Dollars per million tokens written.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="The most tokens of an answer.")] = None,
    max_tokens_field: Annotated[
        str | None,
        typer.Option(help="The provider's name for that limit: max_tokens or max_completion_tokens."),
    ] = None,
    per_minute: Annotated[int | None, typer.Option(help="Requests a minute.")] = None,
    together: Annotated[
        int | None, typer.Option(help="How many of these may come at the same moment.")
    ] = None,
    brand_per_minute: Annotated[int | None, typer.Option(help="Requests a minute for one brand.")] = None,
    at_once: Annotated[int | None, typer.Option(help="The most requests at a time.")] = None,
    seconds: Annotated[float | None, typer.Option(help="The most seconds for an answer.")] = None,
    api_key_file: Annotated[
        Path, typer.Option(help="File that holds the provider's key; - is standard input.", allow_dash=True)
    ] = _STDIN,
    no_key: Annotated[bool, typer.Option("--no-key", help="It takes none.")] = False,
    keep_key: Annotated[bool, typer.Option("--keep-key", help="Change only settings; keep the key.")] = False,
    as_json: AsJson = False,
    gateway_url: GatewayUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Connects a provider, or changes the given options of one. The next request uses it.

    For example:

        brandctl providers connect brave < brave.key
        brandctl providers connect brave --keep-key --per-minute 600
    """
    if no_key and keep_key:
        raise typer.BadParameter("give only one of them", param_hint="--no-key and --keep-key")
    key = None if no_key or keep_key else _read_key(api_key_file)
    given = {
        "url": url,
        "model": model,
        "price": price,
        "read_price": read_price,
        "written_price": written_price,
        "max_tokens": max_tokens,
        "max_tokens_field": max_tokens_field,
        "per_minute": per_minute,
        "together": together,
        "brand_per_minute": brand_per_minute,
        "at_once": at_once,
        "seconds": seconds,
    }
    name = name or kind
    with GatewayClient.at(gateway_url, key_file) as gateway:
        listed = gateway.call("GET", "/providers")["items"]
        before = next((each for each in listed if each["name"] == name and each["kind"] == kind), None)
        settings = (before["settings"] if before else {}) | {
            option: value for option, value in given.items() if value is not None
        }
        body = {"kind": kind, "settings": settings} | ({} if key is None else {"key": key})
        if no_key and before and before["has_key"] and not before["from_environment"]:
            gateway.call("DELETE", f"/providers/{quote(name, safe='')}")
        answer = gateway.call("PUT", f"/providers/{quote(name, safe='')}", body)
    if as_json:
        print_json(answer)
    note(f"{name} is connected")


@app.command()
def disconnect(
    name: Annotated[str, typer.Argument(help="Name of the provider, as in `list`.")],
    as_json: AsJson = False,
    gateway_url: GatewayUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Removes a provider and its key."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        gateway.call("DELETE", f"/providers/{quote(name, safe='')}")
    if as_json:
        print_json({"disconnected": name})
    note(f"{name} is no longer connected")


@app.command()
def rotate(as_json: AsJson = False, gateway_url: GatewayUrl = None, key_file: KeyFile = None) -> None:
    """Encrypts every stored key with the first of GATEWAY_KEYS, while requests go on. Then remove the others."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        answer = gateway.call("POST", "/providers/rotate")
    if as_json:
        print_json(answer)
    note(f"{answer['sealed_anew']} keys are sealed with the first of GATEWAY_KEYS")


def _read_key(file: Path) -> str:
    if file != _STDIN:
        try:
            key = file.read_text().strip()
        except (OSError, ValueError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from error
    elif sys.stdin.isatty():
        key = str(typer.prompt("Key", hide_input=True, err=True)).strip()
    else:
        key = sys.stdin.read().strip()
    if not key:
        raise UsageError(
            "no key was given: give it on standard input or with --api-key-file, or add --no-key or --keep-key"
        )
    return key


def _key(provider: dict[str, Any]) -> str:
    if not provider["has_key"]:
        return "none"
    return f"…{provider['key_end']}" if provider["key_end"] else "set"
