"""Who may come in, asked before any route: Host, Origin, and on TCP the token.

A web page that the user has open can send requests here, even under a name whose DNS it points at
this machine; Host and Origin tell. Another user of the machine can reach TCP; the token tells.
"""

import hmac
import json
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

if TYPE_CHECKING:
    from braincore.serve.app import Owner

__all__ = ["UNIX", "Door", "Json", "error"]

UNIX = "pid:"
"""How `client` of the scope begins for who came through the Unix socket."""

_LOCAL_NAMES = ("braincore", "localhost", "127.0.0.1", "[::1]")


class Json(JSONResponse):
    """JSON in ASCII: a path need not be UTF-8, and then its text has lone surrogates."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode("ascii")


def error(message: str, status: int, **headers: str) -> Json:
    """What went wrong, in the one shape that errors have (`shapes.Failed`)."""
    body = {"outcome": "error", "error": message}
    return Json(body, status, headers={"X-Braincore-Exit": "1", **headers})


class Door:
    """Stands before the app of one owner."""

    def __init__(self, app: ASGIApp, owner: "Owner") -> None:
        self._app = app
        self._owner = owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refused = self._refusal(scope, Headers(scope=scope))
            if refused is not None:
                await refused(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Json | None:
        tcp = self._owner.listening
        host = ",".join(headers.getlist("host")).lower()
        came_by_tcp = not (scope["client"] or ("",))[0].startswith(UNIX)
        if came_by_tcp:
            known = tcp is not None and host in tcp.hosts
        else:
            name, _, port = host.partition(":") if host[:1] != "[" else host.rpartition(":")
            known = host in _LOCAL_NAMES or (name in _LOCAL_NAMES and port.isdigit())
        if not known:
            return error(f"Host {host!r} is no name of this owner. Use the address it gave.", 403)
        for origin in headers.getlist("origin"):
            if tcp is None or origin.lower() not in tcp.origins:
                return error(f"Pages of {origin!r} may not ask this owner.", 403)
        if came_by_tcp and (tcp is None or not _holds(headers, tcp.token)):
            return error(
                "The token is missing or wrong. Send `Authorization: Bearer TOKEN`; "
                "`braincore serve --http PORT` says where the token lies.",
                401,
                **{"WWW-Authenticate": "Bearer"},
            )
        return None


def _holds(headers: Headers, token: str) -> bool:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    same = hmac.compare_digest(given.strip().encode(), token.encode())
    return same and scheme.lower() == "bearer"
