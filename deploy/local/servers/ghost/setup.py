"""setup.py URL CREDENTIALS: gives a new Ghost its owner and an integration, whose Admin API key is written down."""

import json
import os
import sys
from typing import Any
from urllib.request import Request, urlopen

OWNER = {
    "name": "Owner",
    "email": "owner@example.org",
    "password": "Brew-slowly-1842",
    "blogTitle": "Daily Grind",
}


class AdminSession:
    """A session at the admin pages of Ghost."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._cookie = ""

    def ask(self, method: str, path: str, body: object = None) -> Any:
        headers = {
            "Origin": self._url,
            "Content-Type": "application/json",
            "Accept-Version": "v6.0",
            "Cookie": self._cookie,
        }
        data = None if body is None else json.dumps(body).encode()
        asked = Request(f"{self._url}/ghost/api/admin{path}", data, headers, method=method)  # noqa: S310 - of this machine
        with urlopen(asked, timeout=120) as answer:  # noqa: S310
            self._cookie = (answer.headers["Set-Cookie"] or self._cookie).partition(";")[0]
            body = answer.read()
        return json.loads(body) if body.startswith(b"{") else None


def main(url: str, credentials: str) -> None:
    admin = AdminSession(url)
    if not admin.ask("GET", "/authentication/setup/")["setup"][0]["status"]:
        admin.ask("POST", "/authentication/setup/", {"setup": [OWNER]})
    admin.ask("POST", "/session/", {"username": OWNER["email"], "password": OWNER["password"]})
    made = admin.ask("POST", "/integrations/?include=api_keys", {"integrations": [{"name": "tests"}]})
    (key,) = [each for each in made["integrations"][0]["api_keys"] if each["type"] == "admin"]
    version = admin.ask("GET", "/site/")["site"]["version"]
    known = {"url": url, "version": version, "key": f"{key['id']}:{key['secret'].rpartition(':')[2]}"}
    with open(credentials, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        json.dump(known, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
