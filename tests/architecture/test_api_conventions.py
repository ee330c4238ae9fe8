"""Every service's API follows the same conventions, and its document tells of them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from chassis.http.conventions.pages import MAX_PAGE
from chassis.http.problem_codes import ProblemCode, merged_codes
from tests.architecture.test_every_route_names_its_scope import ROOT, SERVICES, SETTINGS, served_by

CODE = re.compile(r"[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)?")
OPERATION_ID = re.compile(r"[a-z]+(_[a-z]+)+")
VERBS = frozenset(
    [
        "accept",
        "acknowledge",
        "add",
        "approve",
        "audit",
        "begin",
        "call",
        "cancel",
        "check",
        "close",
        "compare",
        "complete",
        "confirm",
        "connect",
        "count",
        "create",
        "delete",
        "disable",
        "discard",
        "disconnect",
        "dismiss",
        "edit",
        "enable",
        "erase",
        "export",
        "get",
        "import",
        "introspect",
        "invite",
        "keep",
        "list",
        "mark",
        "move",
        "pause",
        "propose",
        "pull",
        "read",
        "reject",
        "release",
        "remove",
        "reopen",
        "repeat",
        "replay",
        "request",
        "reset",
        "restore",
        "resume",
        "retry",
        "return",
        "reveal",
        "revive",
        "revoke",
        "rotate",
        "run",
        "search",
        "send",
        "set",
        "stop",
        "stream",
        "submit",
        "summarize",
        "take",
        "test",
        "unschedule",
        "update",
    ]
)
FREE_OF_CODES = (
    # Public pages are refused in HTML.
    "services/publisher/src/publisher/http_api.py",
    "services/publisher/src/publisher/site_files.py",
    "services/publisher/src/publisher/site_requests.py",
    "services/publisher/src/publisher/mailing/pages.py",
    "services/publisher/src/publisher/short_links/redirects.py",
    "services/social/src/social/http_api.py",
    "shared/chassis/src/chassis/http/public/__init__.py",
    # The code follows from the status.
    "shared/chassis/src/chassis/http/guard.py",
    "shared/chassis/src/chassis/http/limits.py",
    "shared/chassis/src/chassis/http/service_key.py",
    # Here codes are made into answers.
    "shared/chassis/src/chassis/http/problem_codes.py",
    "shared/chassis/src/chassis/http/problems.py",
    "services/gateway/src/gateway/problems.py",
)
PAGES_OF_THE_CONSOLE = {
    path for path in (ROOT / "services/console/src").glob("**/*.py") if path.name != "api.py"
}
"""People read their refusals, as pages."""
REFUSES = [
    path
    for folder in ("services/*/src", "shared/chassis/src", "shared/receipts/src")
    for path in sorted(ROOT.glob(f"{folder}/**/*.py"))
    if not str(path.relative_to(ROOT)).startswith(FREE_OF_CODES) and path not in PAGES_OF_THE_CONSOLE
]
"""Modules in which every refusal names its code."""


@pytest.fixture(params=SERVICES)
def app(request: pytest.FixtureRequest, tmp_path: Path) -> FastAPI:
    served = served_by(request.param, tmp_path)
    assert isinstance(served, FastAPI)
    return served


def operations_of(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def calls_in(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node


@pytest.mark.extended
def test_operation_ids_make_methods_of_clients(app: FastAPI) -> None:
    ids = [operation["operationId"] for _, _, operation in operations_of(app.openapi())]
    assert len(set(ids)) == len(ids)
    for each in ids:
        assert OPERATION_ID.fullmatch(each), (
            f"{each}: call the function of the route by a verb and its object"
        )
        assert each.split("_")[0] in VERBS, (
            f"{each}: begin with a verb that others begin with, or add one above"
        )
        assert len(each) <= 40, f"{each} is too long for a method"


@pytest.mark.extended
def test_documents_name_servers(app: FastAPI) -> None:
    assert app.openapi()["servers"][0]["url"] == "/"


@pytest.mark.extended
def test_every_documented_refusal_lists_its_codes(app: FastAPI) -> None:
    document = app.openapi()
    schemas, listed = document["components"]["schemas"], document["info"]["x-problem-codes"]
    for method, path, operation in operations_of(document):
        for status, answer in operation["responses"].items():
            if int(status) < 400:
                continue
            name = answer["content"]["application/problem+json"]["schema"]["$ref"].rpartition("/")[2]
            codes = schemas[name]["properties"]["code"]["x-extensible-enum"]
            assert codes, f"{method} {path} may refuse with {status}, for which no code is listed"
            assert set(codes) <= set(listed)


@pytest.mark.extended
def test_every_get_of_json_has_an_etag_and_answers_not_modified(app: FastAPI) -> None:
    for method, path, operation in operations_of(app.openapi()):
        answer = operation["responses"].get("200", {})
        if method == "get" and "application/json" in answer.get("content", ()):
            assert "ETag" in answer["headers"], path
            assert "304" in operation["responses"], path
            names = {each["name"].lower() for each in operation["parameters"]}
            assert "if-none-match" in names, path


@pytest.mark.extended
def test_whatever_may_be_sent_a_body_says_that_its_type_may_be_refused(app: FastAPI) -> None:
    for method, path, operation in operations_of(app.openapi()):
        assert ("415" in operation["responses"]) == (method != "get"), f"{method} {path}"


@pytest.mark.extended
def test_pages_have_one_limit_and_one_cursor(app: FastAPI) -> None:
    for method, path, operation in operations_of(app.openapi()):
        parameters = {each["name"]: each for each in operation.get("parameters", ()) if each["in"] == "query"}
        if "limit" in parameters:
            assert method == "get"
            assert parameters["limit"]["schema"]["maximum"] == MAX_PAGE, path
            assert "after" in parameters, f"{path}: call the cursor `after`"
        assert parameters.get("before", {"deprecated": True}).get("deprecated"), f"{path}: call it `after`"


@pytest.mark.extended
def test_every_refusal_names_a_code() -> None:
    for path in REFUSES:
        for name, call in calls_in(path):
            place = f"{path.relative_to(ROOT)}:{call.lineno}"
            assert name != "HTTPException", (
                f"{place}: raise RefusalError with a code, so that programs can read it"
            )
            assert name != "ProblemResponse", f"{place}: use ProblemResponse.coded"


def all_codes(folder: Path) -> tuple[ProblemCode, ...]:
    """Those of all services; no two of them mean different things by the same code."""
    found = [served_by(service, folder).state.problem_codes for service in SERVICES]
    return merged_codes(*found)


def test_codes_are_words_and_are_in_the_documents(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "problem-codes.md").read_text()
    for each in all_codes(tmp_path):
        assert CODE.fullmatch(each.code)
        row = f"| `{each.code}` | {'/'.join(str(status.value) for status in (each.status, *each.also))} | {each.meaning} |"
        assert row in page, f"docs/problem-codes.md lacks this row: {row}"


@pytest.mark.extended
def test_no_code_is_listed_that_does_not_exist(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "problem-codes.md").read_text()
    listed = set(re.findall(r"^\| `([a-z_.]+)` \| \d", page, re.MULTILINE))
    assert listed == {each.code for each in all_codes(tmp_path)}


def test_every_problem_of_the_gateway_is_listed(tmp_path: Path) -> None:
    known = {each.code for each in served_by("gateway", tmp_path).state.problem_codes}
    for path in sorted((ROOT / "services/gateway/src").glob("**/*.py")):
        for name, call in calls_in(path):
            if name in {"Problem", "_problem"} and call.args and isinstance(call.args[0], ast.Constant):
                code = call.args[0].value
                assert code in known, f"{path.relative_to(ROOT)}:{call.lineno}: problem_codes.py lacks {code}"
            if name in {"RefusedError", "PassingError"} and isinstance(call.args[0], ast.Constant):
                code = f"page.{call.args[0].value}"
                assert code in known, f"{path.relative_to(ROOT)}:{call.lineno}: problem_codes.py lacks {code}"


@pytest.mark.extended
@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1", 404, "not_found"),
        ("GET", "/v1/nothing", 404, "not_found"),
        ("POST", "/v1/audit-log", 405, "method_not_allowed"),
        ("POST", "/openapi.json", 405, "method_not_allowed"),
        ("GET", "/docs/nothing", 404, "not_found"),
        ("GET", "/v1/audit-log?brnad=acme", 422, "unknown_parameter"),
    ],
)
async def test_what_no_route_takes_is_refused_as_a_problem(
    app: FastAPI, method: str, path: str, status: int, code: str
) -> None:
    transport = httpx.ASGITransport(app=app)
    headers = {"X-Service-Key": SETTINGS["service_key"]}
    async with httpx.AsyncClient(transport=transport, base_url="http://api", headers=headers) as client:
        refused = await client.request(method, path)
    assert (refused.status_code, refused.headers["content-type"]) == (status, "application/problem+json")
    assert refused.json()["code"] == code
    if status == 405:
        assert refused.headers["allow"] == "GET, HEAD"
