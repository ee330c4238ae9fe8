"""Fixtures for every test folder. They live in `tests/fixtures`; those of one folder are in its own `conftest.py`.

A whole run has one private RabbitMQ and one private PostgreSQL, started when a test asks for them and shared by all worker
processes. `RABBITMQ_URL` (with `RABBITMQ_API_URL`) and `POSTGRES_URL`, where set, name servers to use instead; all must be
administrators' URLs. Whatever a test gets is its own: it meets no other test, in this run or in one beside it.

Databases (`tests/fixtures/databases.py`)
    `database_url`     str: a fresh, empty database for this test.
    `make_database`    async factory: `url = await make_database("research")` gives a fresh database with the tables of
                       `messaging` and of that service; `await make_database()` one with those of `messaging` only;
                       `await make_database(None)` an empty one. Call it as often as databases are needed. The role in
                       the URL is that of a service, which owns nothing; for an empty database it is the owner.
    `database_roles`   `owner(url)` and `runtime(url)` are the URLs of the same database for the two roles, neither of
                       them a superuser; `runtime_role` is what a migration is told to let in.

Broker (`tests/fixtures/broker.py`)
    `rabbitmq_url`     str: a vhost for this test with the whole topology declared and nothing in its queues.
    `broker_urls`      dict: for each service the URL of the same vhost for a user of its own, which may do what the
                       service needs and nothing else.
    `make_vhost`       async factory: `url = await make_vhost()` as above; `await make_vhost(topology=False)` an empty one.

The servers themselves (`tests/fixtures/servers.py`), which other tests use at the same time
    `postgres_url`     str: the superuser, on the database `postgres`.
    `rabbitmq_admin_url`  str: the administrator on the vhost `/`.
    `rabbitmq_api`     httpx.Client on the management HTTP API (credentials set): `rabbitmq_api.get("/api/queues/" + vhost)`;
                       the vhost of a URL is `url.rpartition("/")[2]`. Its figures lag up to 5 s behind;
                       a passive declare tells the truth at once.
    `rabbitmq_api_url`    str: the base of that API, with an administrator's credentials.

Browser (`tests/fixtures/browser.py`)
    `new_browser_context`  async factory: `context = await new_browser_context(viewport=…, color_scheme=…)` is Playwright's
                       BrowserContext, with nothing in it from any other, in a Chromium that runs already.
    `page_checks`      (`tests/fixtures/page_checks.py`) what axe and html-validate find on pages, for tests marked `real`.

Ports (`tests/fixtures/free_ports.py`)
    `free_port`        factory: `free_port()` is a TCP port nobody listens on, and that nobody else is given.

Model (`tests/fixtures/models/real_model.py`)
    `real_model_url`   str: where a small language model answers that really runs, for tests marked `real`; without one they
                       are skipped.

Memory (`tests/fixtures/memory.py`)
    `resting_memory`   int: the bytes a service may take while it has nothing to do, if it was started with the next one;
                       `memory_of` counts them.
    `as_in_an_image`   variables for a process that finds none of the packages that images do not have.

`tests/fixtures/property_tests.py` has no fixture: it says how Hypothesis runs. Nor has `tests/fixtures/authorities.py`: it has
clients of HTTP share what they read from the disk; `tests/fixtures/patience.py` has them wait for a busy machine.
`tests/fixtures/growth.py` has `grows_with_size`, for what must not take time by the square of what it is given.
`tests/fixtures/openapi/fuzzing.py` has `fuzz`, which asks a running service for everything that its OpenAPI document lets one
ask. `tests/fixtures/commands/brandctl.py` has `Operator`, which runs `brandctl` as somebody at a shell would: in a process of
its own, a copy of one that has loaded the command (`forking.py` beside it). In `tests/fixtures/orchestrator` and
`tests/fixtures/models/model_writing.py` is what it takes to have cycles and articles in a database, in
`tests/fixtures/kubernetes` what breaks a manifest in one place.
"""

import gc

# The folder of this member has the name of its package: imported first, or pytest would take the folder for the package.
import benchmarks  # noqa: F401

pytest_plugins = [
    "tests.fixtures.servers",  # the others import it: pytest must have it first, to make its assertions speak
    "tests.fixtures.authorities",
    "tests.fixtures.broker",
    "tests.fixtures.browser",
    "tests.fixtures.databases",
    "tests.fixtures.free_ports",
    "tests.fixtures.memory",
    "tests.fixtures.page_checks",
    "tests.fixtures.patience",
    "tests.fixtures.property_tests",
    "tests.fixtures.models.real_model",
]


def pytest_collection_finish() -> None:
    """Excludes the collected tests from garbage collection.

    There are ten thousand, and they live as long as the process: each full collection would look at all of them.
    """
    gc.collect()
    gc.freeze()
