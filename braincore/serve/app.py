"""The owner's HTTP app: one POST route a verb, one for hooks; the handshake stands before all."""

import json
import logging
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from braincore import __version__
from braincore.brain import Brain
from braincore.errors import BraincoreError
from braincore.serve.claim import PROTOCOL
from braincore.serve.hooks import hook
from braincore.serve.peer import caller_of
from braincore.serve.verbs import VERBS

__all__ = ["Owner", "make_app"]

log = logging.getLogger("braincore")

SLOW_SECONDS = 1.0
MAX_BODY = 33 << 20


class _Json(JSONResponse):
    """JSON in ASCII: a path need not be UTF-8, and then its text has lone surrogates."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode("ascii")


Handler = Callable[[Request], Awaitable[Response]]


class Owner:
    """What the app needs of the process: the brain as seen from a worktree (empty: the owner's
    own), when it was last used, how to make it leave and why it does."""

    def __init__(
        self, brain: Callable[[str], Brain], store: Path, leave: Callable[[str], None]
    ) -> None:
        self.brain = brain
        self.store = store
        self.leave = leave
        self.leaving = ""
        self.last_used = time.monotonic()
        self.running = 0


def make_app(owner: Owner) -> Starlette:
    """The app of one owner."""

    async def verb(request: Request) -> Response:
        found = VERBS.get(request.path_params["verb"])
        if found is None:
            return _error(f"no verb {request.path_params['verb']!r}", 404)
        body = await request.body()
        if len(body) > MAX_BODY:
            return _error("the request is larger than 33 MB", 413)
        try:
            asked = found.request.model_validate_json(body or b"{}")
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "request"
            return _error(f"{where}: {first['msg']}. See `braincore --help`.", 400)

        def work() -> Response:
            brain = owner.brain(_path(request, "root"))
            caller = caller_of(_pid(request), brain.code.files.user_name())
            reply = found.run(brain, asked, caller)
            return _Json(reply.body, headers={"X-Braincore-Exit": str(reply.exit_code)})

        return await run_in_threadpool(work)

    async def hooks(request: Request) -> Response:
        body = await request.body()
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
        return _Json({"version": __version__, "pid": os.getpid(), "protocol": PROTOCOL})

    async def stop(request: Request) -> Response:
        owner.leave("asked to stop")
        return _Json({"outcome": "stopping", "pid": os.getpid()})

    def guarded(handler: Handler) -> Handler:
        async def run(request: Request) -> Response:
            refused = _handshake(request, owner)
            if refused is None and owner.leaving and handler is not stop:
                refused = _error(f"this owner leaves: {owner.leaving}", 503)
            if refused is not None:
                return refused
            began = time.monotonic()
            owner.running += 1
            try:
                return await handler(request)
            except BraincoreError as error:
                log.info("%s: %s", request.url.path, error)
                return _error(str(error), 400)
            finally:
                owner.running -= 1
                owner.last_used = time.monotonic()
                if owner.last_used - began > SLOW_SECONDS:
                    log.warning("slow: %s took %.1f s", request.url.path, owner.last_used - began)

        return run

    async def unexpected(request: Request, problem: Exception) -> Response:
        # Starlette raises it again behind this answer, and so it is logged with its traceback.
        return _error(
            f"The owner failed at this ({type(problem).__name__}: {problem}). "
            f"{owner.store / 'log'} has the details; `braincore doctor` may say more.",
            500,
        )

    return Starlette(
        exception_handlers={Exception: unexpected},
        routes=[
            Route("/v1/hook/{client}", guarded(hooks), methods=["POST"]),
            Route("/v1/ping", guarded(ping), methods=["GET", "POST"]),
            Route("/v1/stop", guarded(stop), methods=["POST"]),
            Route("/v1/{verb}", guarded(verb), methods=["POST"]),
        ],
    )


def _error(message: str, code: int) -> Response:
    return _Json({"error": message}, code, headers={"X-Braincore-Exit": "1"})


def _pid(request: Request) -> int:
    host = request.client.host if request.client else ""
    return int(host.removeprefix("pid:")) if host.startswith("pid:") else 0


def _path(request: Request, name: str) -> str:
    """A path that a client sent percent-encoded; it need not be UTF-8."""
    return os.fsdecode(unquote_to_bytes(request.headers.get(f"x-braincore-{name}", "")))


def _handshake(request: Request, owner: Owner) -> Response | None:
    """421 for another repository's store, 426 when this owner must make room for a newer one."""
    given = _path(request, "store")
    if given and not _same(given, owner.store):
        if not owner.store.exists():
            owner.leave("the repository was moved away")
        return _error(f"this owner serves {owner.store}", 421)
    protocol = request.headers.get("x-braincore-protocol", PROTOCOL)
    version = request.headers.get("x-braincore-version", __version__)
    if protocol != PROTOCOL or _numbers(version) > _numbers(__version__):
        owner.leave(f"a client of version {version} came")
        return _error(f"this owner runs version {__version__} and makes room", 426)
    return None


def _same(given: str, store: Path) -> bool:
    try:
        return os.path.realpath(given) == str(store) and store.exists()
    except (OSError, ValueError):
        return False


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(p) for p in version.split(".") if p.isdigit())
