"""The versions of images from elsewhere are pinned by their digests, in one place, on a Docker that only pretends."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = ("deploy/compose/pin.sh", "deploy/compose/images.yaml", "deploy/images/Dockerfile")
DOCKER = """#!/bin/sh
# A registry where every image is what it was asked for in such a year.
here=$(dirname "$0")
for last; do :; done
case "$*" in
pull*) case "$last" in *"$(cat "$here/missing")") exit 1 ;; esac ;;
*) echo "${last%:*}@sha256:$(echo "$last $(cat "$here/year")" | sha256sum | cut -c 1-64)" ;;
esac
"""


class Checkout:
    """The files that are pinned, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in FILES:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.bin / "docker").write_text(DOCKER)
        (self.bin / "docker").chmod(0o755)
        (self.bin / "year").write_text("2026")
        (self.bin / "missing").write_text("no-such-image")

    def pin(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._folder / FILES[0], *arguments],
            env={"PATH": f"{self.bin}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def images(self) -> dict[str, str]:
        services = yaml.safe_load((self._folder / FILES[1]).read_text())["services"]
        return {name: re.sub(r"^\$\{\w+:-|\}$", "", each["image"]) for name, each in services.items()}

    def base(self) -> str:
        (image,) = re.findall(r"(?m)^ARG PYTHON_IMAGE=(.+)$", (self._folder / FILES[2]).read_text())
        return str(image)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path)
    made.pin("--remove")
    return made


def test_every_image_gets_the_digest_of_its_tag(checkout: Checkout) -> None:
    tags = checkout.images()
    assert not any("@" in tag for tag in tags.values())
    assert checkout.pin().returncode == 0
    pinned = checkout.images()
    assert {name: image.split("@")[0] for name, image in pinned.items()} == tags
    assert all(re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", image) for image in pinned.values())
    assert len(set(pinned.values())) == len(pinned)
    assert checkout.base() == pinned["python"]


def test_pinning_again_renews(checkout: Checkout) -> None:
    checkout.pin()
    before = checkout.images()
    checkout.pin()
    assert checkout.images() == before
    (checkout.bin / "year").write_text("2027")
    checkout.pin()
    assert not set(checkout.images().values()) & set(before.values())
    assert checkout.base() == checkout.images()["python"]


def test_digests_can_be_taken_away(checkout: Checkout) -> None:
    before = checkout.images()
    checkout.pin()
    checkout.pin("--remove")
    assert checkout.images() == before
    assert checkout.base() == before["python"]


def test_with_one_that_cannot_be_had_nothing_is_written(checkout: Checkout) -> None:
    before = checkout.images()
    (checkout.bin / "missing").write_text(before["grafana"])
    done = checkout.pin()
    assert done.returncode != 0
    assert f"{before['grafana']} cannot be had" in done.stderr
    assert checkout.images() == before
