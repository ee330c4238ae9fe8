"""The messages of `setup.sh` on machines that it cannot prepare alone; made-up programs replace the machine's own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "deploy" / "local" / "setup.sh"
TOOLS = ("sh", "sed", "tr", "dirname", "cat", "make", "setpriv", "basename")
DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_ID="13"\n'
UBUNTU = 'PRETTY_NAME="Ubuntu 24.04.2 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=debian\n'


class Machine:
    """A machine with nothing but a few tools, which writes down how it is changed."""

    def __init__(
        self,
        folder: Path,
        *,
        os_release: str = DEBIAN,
        kernel: str = "Linux",
        release: str = "6.12.0",
        programs: tuple[str, ...] = ("apt-get",),
    ) -> None:
        self._programs = folder / "bin"
        self._programs.mkdir()
        self._script = folder / "deploy" / "local" / "setup.sh"
        self._script.parent.mkdir(parents=True)
        shutil.copy(SCRIPT, self._script)
        for tool in TOOLS:
            if path := shutil.which(tool):
                (self._programs / tool).symlink_to(path)
        (self._programs / "python3").symlink_to(sys.executable)
        self.changes = folder / "changes"
        self._add("uname", f'case $1 in -s) echo {kernel} ;; -r) echo "{release}" ;; esac')
        self._add("id", "echo 1000")
        self._add("dpkg-query", "exit 1")
        for program in programs:
            # Whatever would change the machine is noted, and fails: nothing follows.
            self._add(program, f'echo "{program} $*" >>"{self.changes}"; exit 1')
        self._os_release = folder / "os-release"
        self._os_release.write_text(os_release)

    def _add(self, name: str, script: str) -> None:
        program = self._programs / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    def set_up(self, *wanted: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._script, *wanted],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            env={"PATH": str(self._programs), "OS_RELEASE": str(self._os_release), "HOME": os.devnull},
        )


def test_ubuntu_has_no_package_of_chromium_and_says_what_to_install(tmp_path: Path) -> None:
    machine = Machine(tmp_path, os_release=UBUNTU, programs=("apt-get", "sudo"))
    result = machine.set_up("browser", "tools")
    assert result.returncode == 1
    assert "sudo snap install chromium" in result.stderr
    assert "sudo apt-get install --no-install-recommends" in result.stderr
    assert "prometheus prometheus-alertmanager caddy npm" in result.stderr
    assert "chromium " not in result.stderr.partition("--no-install-recommends")[2]
    assert not machine.changes.exists()


def test_ubuntu_takes_everything_but_a_browser_by_itself(tmp_path: Path) -> None:
    machine = Machine(tmp_path, os_release=UBUNTU, programs=("apt-get", "sudo"))
    machine.set_up("tools")
    assert "install-packages.sh prometheus prometheus-alertmanager caddy npm" in machine.changes.read_text()


def test_debian_takes_the_browser_too(tmp_path: Path) -> None:
    machine = Machine(tmp_path, programs=("apt-get", "sudo"))
    machine.set_up("browser")
    assert "install-packages.sh chromium" in machine.changes.read_text()


def test_without_root_the_packages_are_named(tmp_path: Path) -> None:
    result = Machine(tmp_path).set_up("tools")
    assert result.returncode == 1
    assert "prometheus prometheus-alertmanager caddy npm" in result.stderr
    assert "As root, run: deploy/local/setup.sh tools" in result.stderr


def test_a_machine_without_apt_gets_the_names_and_the_way_by_containers(tmp_path: Path) -> None:
    result = Machine(tmp_path, os_release="ID=fedora\n", programs=()).set_up("tools")
    assert result.returncode == 1
    assert "prometheus prometheus-alertmanager caddy npm" in result.stderr
    assert "make up" in result.stderr


@pytest.mark.parametrize(
    ("kernel", "advice"),
    [("Darwin", "limactl start"), ("MINGW64_NT-10.0-22631", "wsl --install"), ("FreeBSD", "make up")],
)
def test_other_systems_are_told_what_to_do(tmp_path: Path, kernel: str, advice: str) -> None:
    machine = Machine(tmp_path, kernel=kernel, programs=("apt-get", "sudo"))
    result = machine.set_up("servers")
    assert result.returncode == 1
    assert advice in result.stderr
    assert "make up" in result.stderr
    assert not machine.changes.exists()


def test_wsl_is_as_good_as_its_distribution(tmp_path: Path) -> None:
    machine = Machine(tmp_path, release="5.15.167.4-microsoft-standard-WSL2", programs=("apt-get", "sudo"))
    machine.set_up("tools")
    assert "install-packages.sh prometheus prometheus-alertmanager caddy npm" in machine.changes.read_text()
