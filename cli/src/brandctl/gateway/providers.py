"""`brandctl providers`: search engines and models that the gateway pays, and their keys."""

from typing import Annotated, Any

import typer

from brandctl.commands import Group, Result, table
from brandctl.gateway.judge_exams import examine, examine_connected, unexamined
from brandctl.gateway.secrets import STDIN, SecretFile, read_secret
from brandctl.options import Yes
from brandctl.settings import given
from brandctl.terminal import printable
from brandctl.times import to_second
from client.services.gateway import Gateway
from client.services.orchestrator import Orchestrator
from integrations.model_providers import MODEL_PROVIDERS
from integrations.providers import PROVIDER_KINDS, ProviderKind

app = Group(
    "providers",
    """Connects the search engines and models that the gateway may call, with their keys.

A key is read from standard input or a file and stored encrypted; only its last four characters are shown again.

For example:

    brandctl providers connect brave < brave.key
    brandctl providers connect searxng --url http://searxng:8080 --no-key
    brandctl providers connect model --url https://api.openai.com/v1 --model NAME --read-price 0.25 --written-price 2 < model.key
    brandctl providers list
    brandctl providers check model --brand daily-grind
    brandctl providers exam
""",
    Gateway,
)

Kind = Annotated[ProviderKind, typer.Argument(metavar="|".join(PROVIDER_KINDS))]


@app.command("list")
def list_providers(gateway: Gateway, orchestrator: Orchestrator) -> Result:
    """Lists the connected providers; exit code 1 if there are none."""
    found = gateway.list_providers()
    if not found["items"]:
        return Result(found, error="No provider is connected: nothing leaves this machine.")
    headings = ("name", "kind", "address", "key", "since", "settings")
    return Result(
        found, table(headings, [_row({**each}) for each in found["items"]]), note=unexamined(orchestrator)
    )


def _row(provider: dict[str, Any]) -> tuple[str, ...]:
    settings = [
        f"{name} {value}"
        for name, value in provider["settings"].items()
        if name != "url" and value is not None
    ]
    since = "environment" if provider["from_environment"] else to_second(provider["key_set_at"])
    key = "none" if not provider["has_key"] else "set"
    return (
        provider["name"],
        provider["kind"],
        provider["settings"]["url"],
        f"…{provider['key_end']}" if provider["has_key"] and provider["key_end"] else key,
        since,
        ", ".join(settings),
    )


@app.command()
def connect(
    gateway: Gateway,
    orchestrator: Orchestrator,
    kind: Kind,
    name: str | None = None,
    url: str | None = None,
    model: str | None = None,
    price: str | None = None,
    read_price: str | None = None,
    written_price: str | None = None,
    max_tokens: int | None = None,
    max_tokens_field: str | None = None,
    per_minute: int | None = None,
    together: int | None = None,
    brand_per_minute: int | None = None,
    at_once: int | None = None,
    seconds: float | None = None,
    api_key_file: SecretFile = STDIN,
    no_key: bool = False,
    keep_key: bool = False,
    no_exam: bool = False,
) -> Result:
    """Connects a provider, or changes the given options of one. The next request uses it.

    If it is a model that judges articles, its exam begins, after a word on its price.

    For example:

        brandctl providers connect brave < brave.key
        brandctl providers connect brave --keep-key --per-minute 600

    Options:
        name: Its name. [default: its kind]
        url: Address of the provider; for a model, the part before /chat/completions.
        model: The model, as its provider calls it.
        price: Dollars per search.
        read_price: Dollars per million tokens read.
        written_price: Dollars per million tokens written.
        max_tokens: The most tokens of an answer.
        max_tokens_field: The provider's name for that limit: max_tokens or max_completion_tokens.
        per_minute: Requests a minute.
        together: How many of these may come at the same moment.
        brand_per_minute: Requests a minute for one brand.
        at_once: The most requests at a time.
        seconds: The most seconds for an answer.
        api_key_file: File that holds the provider's key; - is standard input.
        no_key: It takes none.
        keep_key: Change only settings; keep the key.
        no_exam: Do not examine it: articles that rest on its word wait for a person.
    """
    if no_key and keep_key:
        raise typer.BadParameter("give only one of them", param_hint="--no-key and --keep-key")
    credentials: dict[str, Any] = {"kind": kind}
    if not (no_key or keep_key):
        credentials["key"] = read_secret(api_key_file, "key", "--api-key-file, or add --no-key or --keep-key")
    changes = given(
        url=url,
        model=model,
        price=price,
        read_price=read_price,
        written_price=written_price,
        max_tokens=max_tokens,
        max_tokens_field=max_tokens_field,
        per_minute=per_minute,
        together=together,
        brand_per_minute=brand_per_minute,
        at_once=at_once,
        seconds=seconds,
    )
    name = name or kind
    listed = gateway.list_providers()["items"]
    before = next((each for each in listed if each["name"] == name and each["kind"] == kind), None)
    settings = {**(before["settings"] if before else {}), **changes}
    if no_key and before and before["has_key"] and not before["from_environment"]:
        gateway.disconnect_provider(name)
    gateway.connect_provider(name, settings=settings, **credentials)
    remarks = [f"{name} is connected"]
    if kind in MODEL_PROVIDERS:
        is_new = before is None or any(
            before["settings"].get(each) != settings.get(each) for each in ("url", "model")
        )
        settings = next(
            each["settings"] for each in gateway.list_providers()["items"] if each["name"] == name
        )
        remarks += examine_connected(orchestrator, name, {**settings}, is_new=is_new, no_exam=no_exam)
    return Result({}, remark=remarks)


@app.command()
def exam(
    gateway: Gateway,
    orchestrator: Orchestrator,
    name: Annotated[str | None, typer.Argument()] = None,
    again: bool = False,
    yes: Yes = False,
) -> Result:
    """Shows the exam of a model that judges articles, or begins it: without one that it passed, they wait for a person.

    It is asked about 200 sentences with known verdicts, 100 of them lies. The price is said first.

    For example:

        brandctl providers exam
        brandctl providers exam model --again --yes

    Options:
        name: Name of the judge, as in `list`. [default: the only one]
        again: Examine it again, also while an exam is under way.
    """
    return examine(gateway, orchestrator, name, again=again, yes=yes)


@app.command()
def check(gateway: Gateway, name: str, brand: Annotated[str, typer.Option()]) -> Result:
    """Tries a provider by a small request: a word from a model, or one search. Exit code 1 if it does not work.

    For example:

        brandctl providers check model --brand daily-grind

    Options:
        name: Name of the provider, as in `list`.
        brand: The brand that pays for it.
    """
    found = gateway.check_provider(name, brand=brand)
    told = printable(found["detail"])
    if not found["works"]:
        return Result(found, error=f"{name} does not work: {told}")
    return Result(found, remark=f"{name} works: “{told}”, for {found['spent'] / 1_000_000:.6f} dollars")


@app.command()
def disconnect(gateway: Gateway, name: str) -> Result:
    """Removes a provider and its key.

    Options:
        name: Name of the provider, as in `list`.
    """
    gateway.disconnect_provider(name)
    return Result({"disconnected": name}, remark=f"{name} is no longer connected")


@app.command()
def rotate(gateway: Gateway) -> Result:
    """Encrypts every stored key with the first of GATEWAY_KEYS, while requests go on. Then remove the others."""
    answer = gateway.rotate_provider_keys()
    return Result(answer, remark=f"{answer['sealed_anew']} keys are sealed with the first of GATEWAY_KEYS")
