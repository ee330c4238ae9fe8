"""python3 sign_in.py URL FOLDER: makes an application, signs `acme` in as a person would, and keeps the token."""

import json
import os
import re
import sys
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path
from urllib.parse import urlencode, urlsplit

OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"
SCOPES = "read write"


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Stops at redirects, since the redirect's address has the code."""

    def redirect_request(self, *_: object) -> None:
        return None


def main(url: str, folder: Path) -> None:
    told = re.search(r"password is (\S+)", (folder / "account.log").read_text())
    assert told is not None, "snac told no password: see account.log"
    app = json.loads(
        ask(url, "/api/v1/apps", client_name="tests", redirect_uris=OUT_OF_BAND, scopes=SCOPES)[1]
    )
    wanted = {
        "client_id": app["client_id"],
        "redirect_uri": OUT_OF_BAND,
        "response_type": "code",
        "scope": SCOPES,
    }
    page = ask(url, f"/oauth/authorize?{urlencode(wanted)}")[1]
    hidden = dict(re.findall(r'name="([^"]+)"[^>]*value="([^"]*)"', page))
    action = re.search(r'action="([^"]+)"', page)
    assert action is not None, page
    headers, answer = ask(url, urlsplit(action[1]).path, **hidden | {"login": "acme", "passwd": told[1]})
    code = re.search(r"code=([\w-]+)", headers.get("location") or "") or re.search(r"([0-9a-f]{32})", answer)
    assert code is not None, answer
    token = ask(
        url,
        "/oauth/token",
        grant_type="authorization_code",
        code=code[1],
        client_id=app["client_id"],
        client_secret=app["client_secret"],
        redirect_uri=OUT_OF_BAND,
    )[1]
    file = folder / "credentials.json"
    file.touch(mode=0o600)
    file.write_text(json.dumps({"url": url, "user": "acme", "token": json.loads(token)["access_token"]}))
    os.sync()


def ask(url: str, path: str, **form: str) -> tuple[Message, str]:
    """Returns headers and body, with any status."""
    opener = urllib.request.build_opener(NoRedirects, urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url + path, urlencode(form).encode() if form else None)  # noqa: S310
    try:
        with opener.open(request, timeout=30) as answer:
            return answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.headers, error.read().decode()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
