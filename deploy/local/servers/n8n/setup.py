"""Does what a person does in n8n's editor: makes the owner and the credentials, imports the workflow and turns it on.

setup.py URL KEYS WORKFLOW: KEYS is a JSON list of credentials ({"name", "type", "data"}), WORKFLOW the file to import.
"""

import json
import sys
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

OWNER = {
    "email": "owner@brand-engine.test",
    "firstName": "Ada",
    "lastName": "Owner",
    "password": "A-password-for-tests-1",
}


def main(url: str, keys: Path, workflow: Path) -> None:
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar())
    )

    def post(path: str, body: Any) -> Any:
        request = urllib.request.Request(  # noqa: S310  (a loopback address)
            f"{url}/rest/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with opener.open(request, timeout=60) as answer:
            return json.load(answer)["data"]

    post("owner/setup", OWNER)
    for each in json.loads(keys.read_text()):
        post("credentials", each)
    # n8n takes the credentials of the same names.
    made = post("workflows", json.loads(workflow.read_text()))
    post(f"workflows/{made['id']}/activate", {"versionId": made["versionId"]})


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
