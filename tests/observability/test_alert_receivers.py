"""Alertmanager as the containers start it: the variables name its receivers, and mistakes in them are reported."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
START = ROOT / "deploy" / "observability" / "alertmanager" / "start.sh"
MAIL = {
    "ALERT_EMAIL_TO": "you@example.org",
    "ALERT_EMAIL_FROM": "engine@example.org",
    "SMTP_HOST": "mail.example.org:587",
}


class Alertmanager:
    """The script, with a program that only notes how it was called in the place of Alertmanager."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "alertmanager.yml"
        self._calls = folder / "calls"
        self._program = folder / "alertmanager"
        self._program.write_text(f'#!/bin/sh\necho "$@" >{self._calls}\n')
        self._program.chmod(0o755)

    def start(self, **environment: str) -> subprocess.CompletedProcess[str]:
        own = {"PATH": os.environ["PATH"], "CONFIG": str(self.config), "ALERTMANAGER": str(self._program)}
        return subprocess.run(
            ["sh", str(START)], env=own | environment, capture_output=True, text=True, check=False, timeout=60
        )

    def receiver(self, **environment: str) -> dict[str, list[dict[str, str]]]:
        """The receivers, once it has started with these variables."""
        done = self.start(**environment)
        assert done.returncode == 0, done.stderr
        assert f"--config.file={self.config}" in self._calls.read_text()
        (receiver,) = yaml.safe_load(self.config.read_text())["receivers"]
        assert receiver.pop("name") == "people"
        return receiver  # type: ignore[no-any-return]


@pytest.fixture
def alertmanager(tmp_path: Path) -> Alertmanager:
    return Alertmanager(tmp_path)


def test_without_receivers_nobody_is_told(alertmanager: Alertmanager) -> None:
    assert alertmanager.receiver() == {}


def test_alerts_go_by_mail(alertmanager: Alertmanager) -> None:
    (mail,) = alertmanager.receiver(**MAIL)["email_configs"]
    assert mail["to"] == "you@example.org"
    assert mail["from"] == "engine@example.org"
    assert mail["smarthost"] == "mail.example.org:587"
    assert mail["require_tls"] is True


def test_alerts_go_to_a_webhook_and_by_mail(alertmanager: Alertmanager) -> None:
    receiver = alertmanager.receiver(ALERT_WEBHOOK_URL="https://chat.example.org/hook?a=1&b=2", **MAIL)
    assert receiver["webhook_configs"] == [
        {"url": "https://chat.example.org/hook?a=1&b=2", "send_resolved": True}
    ]
    assert len(receiver["email_configs"]) == 1


def test_a_password_may_have_any_character_and_nobody_else_reads_it(alertmanager: Alertmanager) -> None:
    password = """it's "a" $HOME: #1 \\ {x}"""
    (mail,) = alertmanager.receiver(SMTP_USERNAME="engine", SMTP_PASSWORD=password, **MAIL)["email_configs"]
    assert mail["auth_password"] == password
    assert stat.S_IMODE(alertmanager.config.stat().st_mode) == 0o600


def test_secrets_may_be_in_files_and_an_empty_file_is_none(
    alertmanager: Alertmanager, tmp_path: Path
) -> None:
    password, webhook, empty = tmp_path / "password", tmp_path / "webhook", tmp_path / "empty"
    password.write_text("""it's "a" $HOME `id` \\n\n""")
    webhook.write_text("https://chat.example.org/hook?a=1&b=2\n")
    empty.write_text("\n")
    files = {"SMTP_PASSWORD_FILE": str(password), "ALERT_WEBHOOK_URL_FILE": str(webhook)}
    told = alertmanager.receiver(SMTP_USERNAME="engine", **files, **MAIL)
    assert told["email_configs"][0]["auth_password"] == """it's "a" $HOME `id` \\n"""
    assert told["webhook_configs"][0]["url"] == "https://chat.example.org/hook?a=1&b=2"
    assert alertmanager.receiver(SMTP_PASSWORD_FILE=str(empty), ALERT_WEBHOOK_URL_FILE=str(empty)) == {}
    done = alertmanager.start(ALERT_WEBHOOK_URL_FILE=str(tmp_path / "missing"))
    assert done.returncode == 1
    assert "ALERT_WEBHOOK_URL_FILE" in done.stderr


@pytest.mark.parametrize("missing", ["ALERT_EMAIL_FROM", "SMTP_HOST"])
def test_half_an_address_is_refused_with_what_it_takes(alertmanager: Alertmanager, missing: str) -> None:
    done = alertmanager.start(**{name: value for name, value in MAIL.items() if name != missing})
    assert done.returncode == 1
    assert f"ALERT_EMAIL_TO takes {missing}" in done.stderr


def test_alertmanager_itself_accepts_it(alertmanager: Alertmanager) -> None:
    """By its own checker; `make test` installs it (Debian: apt-get install prometheus-alertmanager)."""
    alertmanager.start(ALERT_WEBHOOK_URL="https://chat.example.org/hook", SMTP_USERNAME="engine", **MAIL)
    subprocess.run(["amtool", "check-config", str(alertmanager.config)], check=True, timeout=60)


def test_it_is_told_of_every_severity(alertmanager: Alertmanager) -> None:
    alertmanager.start()
    route = yaml.safe_load(alertmanager.config.read_text())["route"]
    assert route["receiver"] == "people"
    assert all("receiver" not in each for each in route["routes"])
