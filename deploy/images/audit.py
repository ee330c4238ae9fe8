"""`make audit`: looks up advisories about the locked packages, and lists the parts of each image.

The lock is looked up in the public record of advisories by pip-audit, which is fetched for it. Where the network or the tool is
missing, or where the index has no advisories, it says so and does not fail: what fails is an advisory. The parts of each image
are written, without a network, as CycloneDX 1.6 to `.local/sbom/IMAGE.cdx.json`.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import select_requirements

_ROOT: Final = Path(__file__).parents[2]
_TOOL: Final = "pip-audit==2.10.1"
_SECONDS: Final = 45.0
_SBOMS: Final = Path(".local/sbom")


def main() -> None:
    os.chdir(_ROOT)
    entries = list(select_requirements.read_lock(select_requirements.LOCK.read_text()))
    version = tomllib.loads(Path("pyproject.toml").read_text())["project"]["version"]
    _SBOMS.mkdir(parents=True, exist_ok=True)
    images = {path.parent.name: path.parent for path in sorted(Path("services").glob("*/pyproject.toml"))} | {
        "brandctl": Path("cli")
    }
    for image, folder in images.items():
        parts = select_requirements.select(entries, select_requirements.needs_of(folder))
        path = _SBOMS / f"{image}.cdx.json"
        path.write_text(json.dumps(bill(image, version, parts), indent=2) + "\n")
        say(f"{path}: {len(parts)} packages")
    sys.exit(audit(len(entries)))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def bill(image: str, version: str, parts: Sequence[select_requirements.LockedRequirement]) -> dict[str, Any]:
    """The software bill of materials of an image; what its base image has is that one's to tell."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": f"brand-engine/{image}", "version": version}},
        "components": [
            {
                "type": "library",
                "name": part.name,
                "version": part.version,
                "purl": f"pkg:pypi/{part.name}@{part.version}",
                "bom-ref": f"pkg:pypi/{part.name}@{part.version}",
            }
            for part in parts
        ],
    }


def audit(packages: int) -> int:
    """Looks the lock up; returns the exit code."""
    uv = os.environ.get("UV", str(Path(sys.executable).with_name("uv")))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [uv, "tool", "run", _TOOL, "--disable-pip", "--require-hashes", "--progress-spinner", "off"]
        command += [
            "--requirement",
            str(select_requirements.LOCK),
            "--format",
            "json",
            "--output",
            str(report),
        ]
        try:
            done = subprocess.run(  # noqa: S603 - our own command
                command,
                check=False,
                capture_output=True,
                text=True,
                timeout=float(os.environ.get("AUDIT_SECONDS", _SECONDS)),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            say(f"NOT AUDITED: {error}")
            return 0
        if not report.exists():
            last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
            say(f"NOT AUDITED: the tool or the network is missing: {last[:300]}")
            return 0
        found = json.loads(report.read_text())["dependencies"]
    return judge(found, packages)


def judge(found: Sequence[Mapping[str, Any]], packages: int) -> int:
    skipped = [each["name"] for each in found if "skip_reason" in each]
    known = {f"{each['name']} {each['version']}": each["vulns"] for each in found if each.get("vulns")}
    for package, advisories in known.items():
        for advisory in advisories:
            fixed = ", ".join(advisory["fix_versions"]) or "no version yet"
            say(f"{package}: {advisory['id']}, fixed in {fixed}")
    audited = len(found) - len(skipped)
    if skipped:
        say(f"NOT AUDITED: the index has no advisories for {len(skipped)} of {packages} packages")
    if known:
        say(f"{len(known)} packages have known vulnerabilities: make lock LOCK_ARGS='--upgrade-package NAME'")
    elif audited:
        say(f"{audited} packages audited, no known vulnerability")
    return 1 if known else 0


if __name__ == "__main__":
    main()
