"""Which addresses of providers are asked: any that the operator gave, and public ones that people give; in plain words why not."""

from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from chassis.testing import serving
from gateway.egress.addresses import networks
from gateway.outcomes import FailedCall
from gateway.problems import CallProblemError
from gateway.providers import ProviderHttpClient
from tests.fixtures.providers import FakeModel

KEY = "sk-model-key-0123456789abcdef"
LET_IN = "EGRESS_REACHABLE_NETWORKS"


async def to_this_machine(_: str, port: int) -> Sequence[tuple[str, int]]:
    return [("127.0.0.1", port)]


@pytest.fixture
async def model() -> AsyncIterator[str]:
    async with serving(FakeModel({KEY})) as url:
        yield url


async def asked(http: ProviderHttpClient, url: str, *, may_be_private: bool) -> int:
    answer = await http.send("model", "GET", url, seconds=60, may_be_private=may_be_private)
    return answer.status


async def test_a_private_address_of_a_person_is_refused_when_given_and_when_asked(model: str) -> None:
    http = ProviderHttpClient("tests", resolve=to_this_machine)
    named = model.replace("127.0.0.1", "model.example")
    try:
        for url in (model, named, "http://169.254.169.254/latest", "http://[fd00::1]:11434/v1"):
            with pytest.raises(CallProblemError, match=LET_IN) as refused:
                await http.check_address(url)
            assert refused.value.problem.type == "provider.private_address"
            # The name may lead elsewhere since it was checked.
            with pytest.raises(FailedCall) as failed:
                await asked(http, f"{url}/models", may_be_private=False)
            assert failed.value.problem.type == "provider.private_address"
            assert LET_IN in failed.value.problem.detail
        assert await asked(http, f"{model}/v1/models", may_be_private=True) in {200, 401, 404, 405}
    finally:
        await http.close()


async def test_what_the_configuration_names_people_may_give_too(model: str) -> None:
    http = ProviderHttpClient("tests", networks("127.0.0.1/32"), to_this_machine)
    try:
        await http.check_address(model)
        assert await asked(http, f"{model}/v1/models", may_be_private=False) in {200, 401, 404, 405}
        with pytest.raises(CallProblemError, match=LET_IN):
            await http.check_address("http://10.0.0.5:11434/v1")
    finally:
        await http.close()


async def test_why_a_provider_is_away_is_said_in_plain_words(free_port: Callable[[], int]) -> None:
    http, port = ProviderHttpClient("tests"), free_port()
    try:
        with pytest.raises(FailedCall) as failed:
            await asked(http, f"http://127.0.0.1:{port}/v1/models", may_be_private=True)
    finally:
        await http.close()
    assert failed.value.problem.type == "provider.away"
    assert failed.value.problem.detail == (
        f"model cannot be reached at http://127.0.0.1:{port}: nothing answers at this port. See whether it runs, and"
        " whether this address is right"
    )
