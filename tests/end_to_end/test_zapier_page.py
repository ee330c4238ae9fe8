"""The examples of `docs/connect/zapier.md` do what the page says, as far as that can be tried without Zapier."""

import asyncio
import json
import re
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks import Webhook

PAGE = Path(__file__).parents[2] / "docs" / "connect" / "zapier.md"
SECRET = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cw=="
EVENT = {"id": "1", "type": "content.published", "data": {"published_url": "https://acme.example/café"}}


def step() -> str:
    """The program of the page, as Zapier runs it: a function of `inputData`."""
    [program] = re.findall(r"^ +```js\n(.*?)^ +```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    called = "run(JSON.parse(require('fs').readFileSync(0)))"
    return f"const run = (inputData) => {{ {program} }}; console.log(JSON.stringify({called}));"


async def run(**given: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run,
        ["node", "-e", step()],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )


def signed(body: str, sent_at: float) -> dict[str, str]:
    at = datetime.fromtimestamp(int(sent_at), UTC)
    return {
        "body": body,
        "id": "msg_1",
        "time": str(int(sent_at)),
        "signature": "v1,bm90aGluZw== " + Webhook(SECRET).sign("msg_1", at, body),
        "secret": SECRET,
    }


@pytest.mark.real
async def test_the_step_verifies_what_the_library_of_standard_webhooks_signs() -> None:
    body = json.dumps(EVENT, ensure_ascii=False)
    given = signed(body, time.time())
    done = await run(**given)
    assert json.loads(done.stdout) == {"id": "1", "type": "content.published"} | EVENT["data"], done.stderr
    for changed in (
        given | {"body": body + " "},
        given | {"signature": "v1,aGk="},
        given | {"signature": ""},
        signed(body, time.time() - 400),
    ):
        assert "this is not from Brand Engine" in (await run(**changed)).stderr
