"""The owner's HTTP app: one POST route a verb, one for hooks; before them door and handshake."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote_to_bytes

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from braincore import __version__, shapes
from braincore.brain import Brain
from braincore.errors import BraincoreError
from braincore.serve import openapi
from braincore.serve.claim import PROTOCOL
from braincore.serve.door import UNIX, Door, Json, error
from braincore.serve.hooks import hook
from braincore.serve.mcp.routes import Http, Streams
from braincore.serve.peer import caller_of
from braincore.serve.requests import NoRequest, ServeRequest
from braincore.serve.tcp import Listening
from braincore.serve.timing import timed
from braincore.serve.verbs import VERBS

__all__ = ["Owner", "make_app"]

log = logging.getLogger("braincore")

MAX_BODY = 33 << 20
TOO_LARGE = "The request is larger than 33 MB. Split it."


Handler = Callable[[Request], Awaitable[Response]]
Asked = TypeVar("Asked", bound=BaseModel)


class Owner:
    """What the app needs of the process: the brain as seen from a worktree (empty: the owner's
    own), when it was last used, how to make it leave and why it does, how to make it listen on TCP
    and where it does."""

    def __init__(
        self,
        brain: Callable[[str], Brain],
        store: Path,
        leave: Callable[[str], None],
        listen: Callable[[str], Awaitable[Listening]],
    ) -> None:
        self.brain = brain
        self.store = store
        self.leave = leave
        self.listen = listen
        self.listening: Listening | None = None
        self.leaving = ""
        self.last_used = time.monotonic()
        self.running = 0
        self.streams = Streams(self.busy)
        self.http = Http(lambda: brain(""), self.busy)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """While something is asked of us; for the loop's thread."""
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
            self.last_used = time.monotonic()


def make_app(owner: Owner) -> Starlette:
    """The app of one owner."""

    async def verb(request: Request) -> Response:
        name = request.path_params["verb"]
        found = VERBS.get(name)
        if found is None:
            near = get_close_matches(name, VERBS, 1)
            hint = f"Did you mean {near[0]}?" if near else "GET /v1/openapi.json lists them."
            return error(f"There is no verb {name!r}. {hint}", 404)
        asked = await _asked(request, found.request)

        def work() -> Response:
            brain = owner.brain(_path(request, "root"))
            caller = caller_of(_pid(request), brain.code.files.user_name())
            reply = found.run(brain, asked, caller)
            return _done(reply.body, reply.exit_code)

        return await run_in_threadpool(work)

    async def hooks(request: Request) -> Response:
        body = await _body(request)
        cwd = _path(request, "cwd") or str(owner.store)

        def work() -> Response:
            brain = owner.brain(_path(request, "root"))
            done = hook(brain, request.path_params["client"], body, cwd)
            headers = {"X-Braincore-Exit": str(done.exit_code)}
            if done.stderr:
                headers["X-Braincore-Stderr"] = quote(done.stderr + "\n")
            return Response(done.stdout, media_type="application/json", headers=headers)

        return await run_in_threadpool(work)

    async def ping(request: Request) -> Response:
        pong: shapes.Pong = {"version": __version__, "pid": os.getpid(), "protocol": PROTOCOL}
        return _done(pong)

    async def stop(request: Request) -> Response:
        await _asked(request, NoRequest)
        owner.leave("asked to stop")
        stopping: shapes.Stopping = {"outcome": "stopping", "pid": os.getpid()}
        return _done(stopping)

    async def serve(request: Request) -> Response:
        asked = await _asked(request, ServeRequest)
        return _done(serving(await owner.listen(asked.http)))

    async def schema(request: Request) -> Response:
        return Json(await asyncio.to_thread(openapi.document))

    def refusal(request: Request) -> Response | None:
        refused = _handshake(request, owner)
        if refused is None and owner.leaving and request.url.path != "/v1/stop":
            refused = error(f"this owner leaves: {owner.leaving}", 503)
        return refused

    def guarded(handler: Handler) -> Handler:
        async def run(request: Request) -> Response:
            if (refused := refusal(request)) is not None:
                return refused
            with timed(request.url.path.removeprefix("/v1/")) as took:
                try:
                    with owner.busy():
                        response = await handler(request)
                except BraincoreError as problem:
                    log.info("%s: %s", request.url.path, problem)
                    response = error(str(problem), 400)
            response.headers["Server-Timing"] = took.header
            return response

        return run

    class Raw:
        """An ASGI app of its own behind the same handshake."""

        def __init__(self, serve: ASGIApp) -> None:
            self._serve = serve

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            refused = refusal(Request(scope))
            await (refused or self._serve)(scope, receive, send)

    async def mcp_stdio(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        root, session = _path(request, "root"), request.headers.get("x-braincore-session", "")
        await owner.streams.serve(lambda: owner.brain(root), session, receive, send)

    async def unexpected(request: Request, problem: Exception) -> Response:
        # Starlette raises it again behind this answer, and so it is logged with its traceback.
        return error(
            f"The owner failed at this ({type(problem).__name__}: {problem}). "
            f"{owner.store / 'log'} has the details; `braincore doctor` may say more.",
            500,
        )

    async def turned_away(request: Request, problem: Exception) -> Response:
        assert isinstance(problem, HTTPException)
        said = problem.detail
        headers = dict(problem.headers or {})
        if problem.status_code == 405:
            said = f"{request.method} does nothing at {request.url.path}; use {headers['Allow']}."
        elif problem.status_code == 404:
            said = f"Nothing is at {request.url.path}. GET /v1/openapi.json lists what is."
        return error(said, problem.status_code, **headers)

    return Starlette(
        exception_handlers={HTTPException: turned_away, Exception: unexpected},
        middleware=[Middleware(Door, owner)],
        routes=[
            Route("/v1/openapi.json", guarded(schema), methods=["GET"]),
            Route("/v1/hook/{client}", guarded(hooks), methods=["POST"]),
            Route("/v1/ping", guarded(ping), methods=["GET", "POST"]),
            Route("/v1/stop", guarded(stop), methods=["POST"]),
            Route("/v1/serve", guarded(serve), methods=["POST"]),
            Route("/v1/mcp-stdio", Raw(mcp_stdio), methods=["POST"]),
            Route("/mcp", Raw(owner.http.serve)),
            Route("/v1/{verb}", guarded(verb), methods=["POST"]),
        ],
    )


def serving(tcp: Listening) -> shapes.Serving:
    """What is said about an owner that listens on TCP."""
    return {"outcome": "serving", "http": tcp.url, "token_file": str(tcp.token_file)}


def _done(body: object, exit_code: int = 0) -> Response:
    return Json(body, headers={"X-Braincore-Exit": str(exit_code)})


async def _body(request: Request) -> bytes:
    """The request's body; one that is too large is turned away before it is read."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > MAX_BODY:
        raise HTTPException(413, TOO_LARGE)
    parts, size = [], 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size > MAX_BODY:
            raise HTTPException(413, TOO_LARGE)
    return b"".join(parts)


async def _asked(request: Request, model: type[Asked]) -> Asked:
    """The request as its model; 400 names the field that is off."""
    body = await _body(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and kind != "application/json":
        raise HTTPException(415, f"The body is {kind or 'of no type'}. Send application/json.")
    try:
        return model.model_validate_json(body or b"{}")
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(map(str, first["loc"])) or "request"
        message = f"{where}: {first['msg']}. See `braincore --help`."
        raise HTTPException(400, message) from None


def _pid(request: Request) -> int:
    """Whose request it is; 0 for all that came by TCP, so that those are agents."""
    host = request.client.host if request.client else ""
    return int(host.removeprefix(UNIX)) if host.startswith(UNIX) else 0


def _path(request: Request, name: str) -> str:
    """A path that a client sent percent-encoded; it need not be UTF-8."""
    return os.fsdecode(unquote_to_bytes(request.headers.get(f"x-braincore-{name}", "")))


def _handshake(request: Request, owner: Owner) -> Response | None:
    """421 for another repository's store, 426 when this owner must make room for a newer one."""
    given = _path(request, "store")
    if given and not _same(given, owner.store):
        if not owner.store.exists():
            owner.leave("the repository was moved away")
        return error(f"this owner serves {owner.store}", 421)
    protocol = request.headers.get("x-braincore-protocol", PROTOCOL)
    version = request.headers.get("x-braincore-version", __version__)
    if protocol != PROTOCOL or _numbers(version) > _numbers(__version__):
        owner.leave(f"a client of version {version} came")
        return error(f"this owner runs version {__version__} and makes room", 426)
    return None


def _same(given: str, store: Path) -> bool:
    try:
        return os.path.realpath(given) == str(store) and store.exists()
    except (OSError, ValueError):
        return False


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(p) for p in version.split(".") if p.isdigit())
