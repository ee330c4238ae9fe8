"""The health check of a container: asks the service inside for `/health/live`, or for `/health/ready` with `ready`.

Exit status 0 if it answers 200; otherwise 1, with what it answered. Standard library only, because it runs every few
seconds, and by `http.client`, because a proxy from the environment cannot reach the container's own address.
"""

import os
import sys
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path

check = sys.argv[1] if len(sys.argv) > 1 else "live"
port = int(os.environ.get("HTTP_PORT") or Path(__file__).with_name("port").read_text())
connection = HTTPConnection("127.0.0.1", port, timeout=4)
try:
    connection.request("GET", f"/health/{check}")
    answer = connection.getresponse()
    body = answer.read().decode(errors="replace")
except (OSError, HTTPException) as error:
    sys.exit(f"/health/{check} on port {port} does not answer: {str(error) or type(error).__name__}")
sys.exit(None if answer.status == HTTPStatus.OK else f"/health/{check} answers {answer.status}: {body}")
