"""Settings that are secrets: read strictly, from variables or files, and never shown."""

import subprocess
import sys
from pathlib import Path

import pytest

from chassis import KeyedSettings
from chassis.command_line import _read
from chassis.settings import AppSettings, MigrationSettings, WebAddress

KEY = "6f1ed002ab5595859014ebf0951522d9"
URL = "postgresql://user:word@127.0.0.1:5432/name"


class Settings(AppSettings, KeyedSettings):
    peer_url: WebAddress = "http://127.0.0.1:8000"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"DATABASE_URL": URL, "SERVICE_KEY": KEY}.items():
        monkeypatch.setenv(name, value)


def complaint() -> str:
    with pytest.raises(SystemExit) as ended:
        _read(Settings)
    return str(ended.value)


# -- addresses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "password", ["can/ary", "12/canary", "can#ary", "12?canary", "can@ary", "can%ary", "can[ary", "can ary"]
)
def test_a_password_that_would_be_misread_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgresql://user:{password}@127.0.0.1:5432/name")
    said = complaint()
    assert "DATABASE_URL" in said
    assert "percent-encode" in said
    assert "ary" not in said


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:can%2Fary%23@127.0.0.1:5432/name",
        "postgresql://user:pass:word@one:5432,two:5433/name?target_session_attrs=read-write",
        "postgresql:///name?host=/var/run/postgresql",
        "postgres://[::1]/name",
    ],
)
def test_an_address_that_can_be_read_in_one_way_only_is_taken(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", address)
    assert MigrationSettings().database_url.get_secret_value() == address  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "address", ["http://user:canary@host", "ftp://canary", "http://host:canary", "http://h/?canary"]
)
def test_a_web_address_is_refused_without_repeating_it(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("PEER_URL", address)
    said = complaint()
    assert "PEER_URL" in said
    assert "canary" not in said


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_secret_may_be_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {"DATABASE_URL": f"{URL}\n", "SERVICE_KEY": f"{KEY}\r\n"}.items():
        (tmp_path / name).write_text(value)
        monkeypatch.delenv(name)
        monkeypatch.setenv(f"{name}_FILE", str(tmp_path / name))
    settings = Settings()  # type: ignore[call-arg]
    assert settings.database_url.get_secret_value() == URL
    assert settings.service_key.get_secret_value() == KEY


def test_what_comes_from_a_file_is_checked_as_well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("canary")
    monkeypatch.delenv("SERVICE_KEY")
    monkeypatch.setenv("SERVICE_KEY_FILE", str(tmp_path / "key"))
    said = complaint()
    assert "SERVICE_KEY" in said
    assert "fewer than 16 characters" in said
    assert "canary" not in said


@pytest.mark.parametrize(
    ("content", "variable", "said"),
    [
        (b"canary", "canary-too", "SERVICE_KEY and SERVICE_KEY_FILE are both set"),
        (None, "", "cannot be read: No such file or directory"),
        (b"\n", "", "is empty"),
        (b"canary\xff", "", "is no text in UTF-8"),
    ],
)
def test_a_file_that_is_no_help_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, variable: str, said: str
) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("SERVICE_KEY", variable)
    monkeypatch.setenv("SERVICE_KEY_FILE", str(path))
    complained = complaint()
    assert said in complained
    assert "canary" not in complained


def test_a_setting_that_is_no_secret_is_not_read_from_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "level").write_text("debug")
    monkeypatch.setenv("LOG_LEVEL_FILE", str(tmp_path / "level"))
    assert Settings().log_level == "info"  # type: ignore[call-arg]


# -- the end of a process ------------------------------------------------------------------------------------------------

_PROGRAM = """
from chassis import App, AppSettings
from chassis.command_line import command_line

def build(settings):
    raise RuntimeError(f"cannot make it: {settings.database_url.get_secret_value()} canary-word-1")

command_line("counter", AppSettings, build)
"""


def test_a_process_that_fails_says_so_in_its_log_and_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", URL.replace("word", "canary-word-1"))
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "service_failed" in done.stdout
    assert "cannot make it: postgresql://user:***@127.0.0.1:5432/name ***" in done.stdout
    assert "canary" not in done.stdout + done.stderr
