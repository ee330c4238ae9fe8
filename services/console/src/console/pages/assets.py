"""Serves the files of the folder `assets`, which are listed at the start, under addresses that change with their text."""

import hashlib
from importlib.resources import files
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class Assets:
    def __init__(self) -> None:
        folder = files("console").joinpath("assets")
        self._files = {
            each.name: each.read_bytes()
            for each in folder.iterdir()
            if each.name.rpartition(".")[2] in _TYPES
        }
        self._versions = {
            name: hashlib.sha256(content).hexdigest()[:12] for name, content in self._files.items()
        }

    def path(self, name: str) -> str:
        """Raises KeyError for a file that is not in the folder."""
        return f"/assets/{self._versions[name]}/{name}"

    def has(self, name: str) -> bool:
        return name in self._files

    async def serve(self, request: Request) -> Response:
        """Answers `/assets/{version}/{name}`; an old version gets the present file, which is not stored."""
        name = request.path_params["name"]
        if name not in self._files:
            raise HTTPException(404, "there is no such file")
        current = request.path_params["version"] == self._versions[name]
        keep = "public, max-age=31536000, immutable" if current else "no-cache"
        return Response(
            self._files[name],
            media_type=_TYPES[name.rpartition(".")[2]],
            headers={"Cache-Control": keep},
        )
