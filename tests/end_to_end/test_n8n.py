"""`docs/examples/n8n.json`: it fits our APIs, and a real n8n submits keywords with it, takes events, and has a person approve."""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from cryptography.fernet import Fernet
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from chassis.http.callers import SERVICE
from chassis.testing import eventually, running, serving
from envelope import DomainMessage, Payload, new_event_id
from envelope.brand import CATALOGUE
from envelope.brand.payloads import ContentRefused, DraftsWaiting
from events.app import EventsService
from events.app import build as build_events
from events.log import store as log_store
from events.settings import Settings as EventsSettings
from gateway.app import GatewayApp
from gateway.settings import Settings as GatewaySettings
from messaging import Service
from orchestrator.api import http_api
from orchestrator.app import build as build_orchestrator
from orchestrator.article_workflow.store import insert_content
from orchestrator.received_commands.commands import COMMANDS
from orchestrator.received_commands.formats import ReceivedCloudEvent
from orchestrator.settings import Settings as OrchestratorSettings
from tests.fixtures.event_log import published
from writing import Article
from writing.article import ArticleSource

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "docs" / "examples" / "n8n.json"
SCRIPT = ROOT / "deploy" / "local" / "servers" / "n8n.sh"
KEY = "test-service-key-0123456789"
FORMS = ("ada", "a-password-for-tests")


def nodes() -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in json.loads(WORKFLOW.read_text())["nodes"]}


def members(expression: str) -> list[str]:
    """The names in an object of JavaScript, such as `{ version: 1 }`, in their order."""
    return re.findall(r"(\w+):(?= )", expression)


def orchestrator_document() -> dict[str, Any]:
    async def authorise(_: object) -> Any:
        return SERVICE

    return http_api(None, authorise).openapi()  # type: ignore[arg-type]  # nothing is asked


def test_the_nodes_are_connected_and_hold_no_secret() -> None:
    found = nodes()
    workflow = json.loads(WORKFLOW.read_text())
    assert len(found) == len(workflow["nodes"])
    assert not workflow["active"]
    reached = {
        target["node"]
        for outputs in workflow["connections"].values()
        for output in outputs["main"]
        for target in output
    }
    triggers = {"Keyword form", "Events"}
    notes = {name for name, each in found.items() if each["type"] == "n8n-nodes-base.stickyNote"}
    assert set(workflow["connections"]) <= set(found)
    assert reached == set(found) - triggers - notes
    for each in found.values():
        for credential in each.get("credentials", {}).values():
            assert set(credential) == {"id", "name"}
    text = WORKFLOW.read_text()
    assert re.findall(r"be_[0-9A-Za-z]{8}|whsec_[0-9A-Za-z+/]{8}|Bearer ", text) == []


def test_it_asks_for_what_the_orchestrator_has() -> None:
    document = orchestrator_document()
    asked = {
        (each["parameters"].get("method", "GET").lower(), each["parameters"]["url"]): each
        for each in nodes().values()
        if "BRAND_ENGINE_URL" in each["parameters"].get("url", "")
    }
    paths = set()
    for method, url in asked:
        path = re.sub(r"\{\{ [^}]*content_id \}\}", "{content_id}", url).removeprefix(
            "={{ $env.BRAND_ENGINE_URL }}"
        )
        assert method in document["paths"][path], path
        paths.add(path)
    assert paths == {"/v1/messages", "/v1/drafts/{content_id}", "/v1/drafts/{content_id}/approve"}

    event = members(nodes()["Start a cycle"]["parameters"]["jsonBody"])
    data = event[event.index("data") + 1 :]
    assert set(event[: event.index("data") + 1]) <= set(ReceivedCloudEvent.model_fields)
    [kind] = re.findall(r"type: '([\w.]+)'", nodes()["Start a cycle"]["parameters"]["jsonBody"])
    assert set(data) <= set(COMMANDS[kind].data.model_fields)
    schemas = document["components"]["schemas"]
    assert set(members(nodes()["Approve"]["parameters"]["jsonBody"])) <= set(
        schemas["ApproveDraftBody"]["properties"]
    )

    text = WORKFLOW.read_text()
    read = set(re.findall(r"results\[0\]\.(\w+)", text))
    assert read == {"status", "code", "detail"}
    assert read <= set(schemas["MessageResultView"]["properties"])
    draft = set(re.findall(r"\$\('Read the draft'\)\.first\(\)\.json\.(\w+)", text)) | {"title"}
    assert draft <= set(schemas["DraftDetails"]["properties"])


def test_it_names_events_that_there_are() -> None:
    text = WORKFLOW.read_text()
    rules = nodes()["Which event?"]["parameters"]["rules"]["values"]
    types = [
        each["rightValue"]
        for rule in rules
        for each in rule["conditions"]["conditions"]
        if each["leftValue"].endswith("event.type }}")
    ]
    assert types == ["content.published", "content.refused"]
    payloads: list[type[Payload]] = [CATALOGUE[name].payload for name in types]
    fields = {name for each in payloads for name in each.model_fields}
    assert set(re.findall(r"event\.data\.(\w+)", text)) <= fields


# -- a real one ------------------------------------------------------------------------------------------------------------


@dataclass
class Chat:
    """An incoming webhook of a chat, such as Slack's."""

    texts: list[str] = field(default_factory=list)
    is_away: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).json()
        if not self.is_away:
            self.texts.append(body["text"])
        await PlainTextResponse("ok", 503 if self.is_away else 200)(scope, receive, send)


@dataclass
class Installation:
    """Services, and an n8n beside them."""

    orchestrator: Service
    events: EventsService
    api: httpx.AsyncClient
    """Of the orchestrator, with the service key."""
    webhooks: httpx.AsyncClient
    """Of the service events."""
    n8n: httpx.AsyncClient
    chat: Chat

    async def happened(self, payload: Payload) -> None:
        entry = CATALOGUE.type_of(payload)
        message = DomainMessage[type(payload)](  # type: ignore[misc]
            event_id=new_event_id(),
            type=entry.name,
            source=entry.producers[0],
            timestamp=datetime.now(UTC),
            payload=payload,
        )
        async with self.events.database.transaction() as tx:
            await log_store.append(tx.connection, [message])

    async def deliveries(self) -> list[tuple[str, str]]:
        """Types and outcomes of what was sent to n8n, the newest first."""
        found = (await self.webhooks.get("/v1/brands/acme/webhooks/n8n/deliveries")).json()["items"]
        return [(each["type"], each["outcome"]) for each in found]


async def client_of(stack: AsyncExitStack, service: Any) -> httpx.AsyncClient:
    return await stack.enter_async_context(
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{service.port}",
            headers={"X-Service-Key": KEY},
            timeout=60,
            trust_env=False,
        )
    )


@pytest.fixture
async def installation(
    broker_urls: dict[str, str],
    make_database: Callable[..., Awaitable[str]],
    free_port: Callable[[], int],
) -> AsyncIterator[Installation]:
    """The services orchestrator, events and gateway, and an n8n with the workflow, whose first start takes minutes."""
    common = {"service_key": KEY, "http_port": 0}
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(
            running(
                GatewayApp(
                    GatewaySettings.model_validate(
                        common
                        | {
                            "database_url": await make_database("gateway"),
                            "gateway_keys": Fernet.generate_key().decode(),
                            # As the page says for an n8n on the same machine.
                            "egress_reachable_networks": "127.0.0.1/32",
                        }
                    )
                )
            )
        )
        events = await stack.enter_async_context(
            running(
                build_events(
                    EventsSettings.model_validate(
                        common
                        | {
                            "rabbitmq_url": broker_urls["events"],
                            "database_url": await make_database("events"),
                            "gateway_url": f"http://127.0.0.1:{gateway.port}",
                        }
                    )
                )
            )
        )
        orchestrator = await stack.enter_async_context(
            running(
                build_orchestrator(
                    OrchestratorSettings.model_validate(
                        common
                        | {
                            "rabbitmq_url": broker_urls["orchestrator"],
                            "database_url": await make_database("orchestrator"),
                            "research_url": "http://127.0.0.1:1",
                        }
                    )
                )
            )
        )
        api = await client_of(stack, orchestrator)
        (await api.put("/v1/brands/acme", json={"name": "Acme"})).raise_for_status()
        chat, port = Chat(), free_port()
        account = await (await client_of(stack, gateway)).put(
            "/v1/accounts/n8n",
            json={
                "kind": "webhook",
                "brands": ["acme"],
                "settings": {"url": f"http://127.0.0.1:{port}/webhook/brand-engine-events"},
                "credentials": {},
            },
        )
        webhooks = await client_of(stack, events)
        variables = {
            "BRAND_ENGINE_URL": str(api.base_url).rstrip("/"),
            "BRAND_ENGINE_WEBHOOK_SECRET": account.raise_for_status().json()["secret"],
            "CHAT_WEBHOOK_URL": await stack.enter_async_context(serving(chat)),
            "N8N_RUNNERS_BROKER_PORT": str(free_port()),
        }
        await start_n8n(
            stack, port, variables, [await key(api, "n8n", "submit"), await key(api, "ada", "read", "review")]
        )
        form = {"account": "n8n", "order": "strict"}
        (await webhooks.put("/v1/brands/acme/webhooks/n8n", json=form)).raise_for_status()
        n8n = await stack.enter_async_context(
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", auth=FORMS, timeout=60, trust_env=False)
        )
        yield Installation(orchestrator, events, api, webhooks, n8n, chat)


async def key(api: httpx.AsyncClient, name: str, *scopes: str) -> str:
    made = await api.post("/v1/keys", json={"name": name, "scopes": scopes, "brands": ["acme"]})
    return str(made.raise_for_status().json()["key"])


async def start_n8n(stack: AsyncExitStack, port: int, variables: dict[str, str], keys: list[str]) -> None:
    folder = ROOT / ".local" / "servers" / "n8n"
    folder.mkdir(parents=True, exist_ok=True)
    user, password = FORMS
    headers = [
        {
            "name": f"Brand Engine: {who}",
            "type": "httpHeaderAuth",
            "data": {"name": "Authorization", "value": f"Bearer {key}"},
        }
        for who, key in zip(("editor", "reviewer"), keys, strict=True)
    ]
    forms = {"name": "Forms", "type": "httpBasicAuth", "data": {"user": user, "password": password}}
    (folder / "keys.json").write_text(json.dumps([*headers, forms]))

    async def run(*more: str) -> subprocess.CompletedProcess[str]:
        command = [str(SCRIPT), str(folder), str(port), *more]
        return await asyncio.to_thread(
            subprocess.run, command, env=os.environ | variables, capture_output=True, text=True, check=False
        )

    await run("stop")
    stack.push_async_callback(run, "stop")
    begun = await run()
    if begun.returncode:
        pytest.skip(f"n8n cannot be had here: {begun.stderr[-500:] or begun.stdout[-500:]}")


@pytest.mark.real
async def test_keywords_of_its_form_start_a_cycle(installation: Installation) -> None:
    form = "/form/brand-engine-keywords"
    unknown = httpx.AsyncClient(base_url=installation.n8n.base_url, trust_env=False)
    async with unknown:
        assert (await unknown.post(form, files={"field-0": (None, "acme")})).status_code == 401

    async def submit(brand: str, keywords: str) -> None:
        sent = {"field-0": (None, brand), "field-1": (None, keywords)}
        answer = await installation.n8n.post(form, files=sent)
        assert answer.status_code == 200, answer.text

    await submit("acme", "cold brew\n\n moka pot ")
    await submit("rival", "tea")

    async def started() -> list[Any]:
        found: list[Any] = (await installation.api.get("/v1/cycles")).json()["items"]
        return found

    await eventually(started)
    [cycle] = await started()
    told = (await installation.api.get(f"/v1/cycles/{cycle['cycle_id']}")).json()
    assert sorted(each["keyword"] for each in told["keywords"]) == ["cold brew", "moka pot"]


@pytest.mark.real
async def test_it_verifies_events_and_tells_of_an_article(installation: Installation) -> None:
    forged = {"webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": "v1,aGk="}
    for headers in ({}, forged):
        refused = await installation.n8n.post(
            "/webhook/brand-engine-events", json={"type": "content.published"}, headers=headers
        )
        assert refused.status_code == 403
    tested = await installation.webhooks.post("/v1/brands/acme/webhooks/n8n/test")
    assert (tested.json()["delivered"], tested.json()["status"]) == (True, 204)
    installation.chat.is_away = True
    await installation.happened(published(published_url="https://acme.example/cold-brew"))

    async def tried() -> bool:
        return bool(await installation.deliveries())

    await eventually(tried)
    # The chat was away, so n8n did not take the event, and gets it again.
    assert set(await installation.deliveries()) == {("content.published", "failed")}
    installation.chat.is_away = False
    async with installation.events.database.connection() as connection:
        await connection.execute("update deliveries set available_at = now()")
        await connection.execute("update webhooks set resume_at = now()")
    await installation.happened(DraftsWaiting(brand_slug="acme", drafts=1, since=datetime.now(UTC)))

    async def told() -> bool:
        return (await installation.deliveries())[:1] == [("drafts.waiting", "delivered")]

    await eventually(told)
    assert installation.chat.texts == ["Published: https://acme.example/cold-brew"]


@pytest.mark.real
async def test_a_person_approves_in_its_form_with_a_key_of_their_own(installation: Installation) -> None:
    content_id = await waiting_draft(installation)
    await installation.happened(
        ContentRefused(brand_slug="acme", content_id=content_id, keyword="cold brew", reason="needs_review")
    )

    async def asked() -> bool:
        return bool(installation.chat.texts)

    await eventually(asked)
    [text] = installation.chat.texts
    assert text.startswith('"Cold brew" waits for a review: http')
    url = text.rpartition(" ")[2]

    async def delivered() -> bool:
        return await installation.deliveries() == [("content.refused", "delivered")]

    await eventually(delivered)

    async def shown() -> bool:
        page = await installation.n8n.get(url)
        return page.status_code == 200 and "Version 1, 4 words" in page.text

    await eventually(shown)
    async with httpx.AsyncClient(trust_env=False) as unknown:
        assert (await unknown.get(url)).status_code == 401
    answer = await installation.n8n.post(url, files={"field-0": (None, "Approve")})
    assert answer.status_code == 200, answer.text

    async def decided() -> dict[str, Any] | None:
        draft: dict[str, Any] = (await installation.api.get(f"/v1/drafts/{content_id}")).json()
        return draft if draft["state"] != "waiting" else None

    draft = await eventually(decided)
    assert (draft["state"], draft["decision"]["by"]) == ("approved", "ada")


async def waiting_draft(installation: Installation) -> UUID:
    """An article that waits for a person."""
    sent = await installation.api.post("/v1/brands/acme/research", json={"keywords": ["cold brew"]})
    cycle_id, content_id = UUID(sent.raise_for_status().json()["cycle_id"]), new_event_id()
    async with installation.orchestrator.database.transaction() as tx:
        await tx.connection.execute(
            "update keywords set content_id = $2, state = 'needs_review', held = true, awaits_turn = false where cycle_id = $1",
            cycle_id,
            content_id,
        )
        await insert_content(
            tx.connection,
            content_id=content_id,
            brand_slug="acme",
            keyword="cold brew",
            research_id=new_event_id(),
            article=Article(
                title="Cold brew",
                slug="cold-brew",
                meta_description="How to steep it.",
                body_markdown="## Time\n\nTwelve hours are enough. [1]",
                word_count=4,
                key_points=(),
                cited=(1,),
            ),
            sources=[ArticleSource(n=1, title="Steeping", passages=(), path="steeping.md")],
            held_for=("a person looks first",),
        )
    return content_id
