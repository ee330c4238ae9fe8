"""Where commands find services, and what they say where they find none."""

from pathlib import Path

import pytest

from brandctl.gateway.loopback import LoopbackListener
from tests.fixtures.commands.brandctl import brandctl

OF_CONTAINERS = "ORCHESTRATOR_PORT=8010\nMONITOR_PORT=8014\nSERVICE_KEY=of-the-containers\n"


@pytest.mark.extended
@pytest.mark.parametrize(
    ("command", "service", "option"),
    [
        ("spend", "gateway", "--gateway-url"),
        ("accounts list", "gateway", "--gateway-url"),
        ("providers list", "gateway", "--gateway-url"),
        ("sources show acme", "research", "--research-url"),
        ("documents list", "research", "--research-url"),
        ("brands export acme --to all.zip", "research", "--research-url"),
        ("audit-log --of research", "research", "--url"),
        ("audit-log --of gateway", "gateway", "--url"),
    ],
)
def test_beside_containers_without_a_port_the_command_that_works_is_named(
    tmp_path: Path, command: str, service: str, option: str
) -> None:
    (tmp_path / ".env").write_text(OF_CONTAINERS)
    ended = brandctl(*command.split(), folder=tmp_path, variables={})
    assert ended.code == 2
    assert f"`make up` give the {service} service no port on this machine" in ended.err
    assert "./brandctl" in ended.err
    assert f" {option} or set {service.upper()}_URL" in ended.err
    assert not (tmp_path / "all.zip").exists()


def test_where_nothing_runs_it_says_what_to_give(tmp_path: Path) -> None:
    ended = brandctl("spend", folder=tmp_path, variables={})
    assert ended.code == 2
    assert "the address of the gateway service is unknown: give --gateway-url or set GATEWAY_URL" in ended.err
    assert "./brandctl" not in ended.err


def test_a_local_run_of_the_checkout_is_found_from_other_folders(tmp_path: Path) -> None:
    local = tmp_path / "checkout" / ".local"
    local.mkdir(parents=True)
    (local / "endpoints.json").write_text(
        '{"gateway_url": "http://127.0.0.1:1", "service_key_file": "service-key"}'
    )
    (local / "service-key").write_text("of-the-local-run")
    ended = brandctl("spend", folder=tmp_path, variables={"BRANDCTL_CHECKOUT": str(local.parent)})
    assert ended.code == 1
    assert "the gateway service at http://127.0.0.1:1 cannot be reached" in ended.err


def test_a_log_in_comes_back_to_this_machine_alone_unless_it_is_a_container(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("BRANDCTL_CALLBACK_HOST", raising=False)
    with LoopbackListener(0) as loopback:
        assert loopback._server.server_address[0] == "127.0.0.1"
    monkeypatch.setenv("BRANDCTL_CALLBACK_HOST", "0.0.0.0")
    with LoopbackListener(0) as loopback:
        assert loopback._server.server_address[0] == "0.0.0.0"
        # The browser is on this machine all the same.
        assert loopback.redirect_uri.startswith("http://127.0.0.1:")
