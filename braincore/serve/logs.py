"""The owner's log: one JSON object a line, redacted, in `log` of the store.

`at` (UTC), `level`, `where` and `text`, and where they apply `verb`, `seconds`, `waited` (seconds
by what was waited for) and `error` (the traceback). Standard library only: this is loaded by
owners that may turn out to be one too many.
"""

import json
import logging
import logging.handlers
import os
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from braincore.errors import StoreError

__all__ = ["log_to"]

log = logging.getLogger("braincore")

MAX_BYTES = 1_000_000
KEPT = 2
"""Older files beside the current one: `log.1`, `log.2`."""
FIELDS = ("verb", "seconds", "waited")


def _redacted(text: str) -> str:
    """Messages and tracebacks may quote what was said: no secret goes to the log."""
    from braincore.brain import redact

    return redact(text)


def _where(record: logging.LogRecord) -> str:
    return f"{record.module}.{record.funcName}" if record.name == log.name else record.name


class _Lines(logging.Formatter):
    """For the file."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "at": at.removesuffix("+00:00") + "Z",
            "level": record.levelname.lower(),
            "where": _where(record),
            "text": _redacted(record.getMessage()),
        }
        for field in FIELDS:
            value = getattr(record, field, None)
            if value:
                line[field] = _redacted(value) if isinstance(value, str) else value
        if record.exc_info:
            line["error"] = _redacted(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class _Words(logging.Formatter):
    """For a person who runs the owner in the foreground."""

    def format(self, record: logging.LogRecord) -> str:
        return _redacted(super().format(record))


def log_to(store: Path, *, foreground: bool) -> None:
    """Log to the store's file, or to stderr; with BRAINCORE_DEBUG=1 each request too.

    Raises StoreError.
    """
    handler: logging.Handler
    if foreground:
        handler = logging.StreamHandler()
        handler.setFormatter(_Words("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    else:
        try:
            # A path need not be UTF-8; the escape that stands for such a byte is JSON's own too.
            handler = logging.handlers.RotatingFileHandler(
                store / "log",
                maxBytes=MAX_BYTES,
                backupCount=KEPT,
                encoding="utf-8",
                errors="backslashreplace",
            )
        except OSError as error:
            raise StoreError(str(store), str(error)) from None
        handler.setFormatter(_Lines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    if os.environ.get("BRAINCORE_DEBUG") == "1":
        log.setLevel(logging.DEBUG)
    logging.raiseExceptions = False  # a full disk must not stop what still works
    threading.excepthook = _log_thread
    sys.excepthook = _log_end


def _log_thread(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None:
        name = failed.thread.name if failed.thread is not None else "?"
        log.error("thread %s ended", name, exc_info=failed.exc_value)


def _log_end(kind: type[BaseException], problem: BaseException, trace: Any) -> None:
    log.critical("the owner ended", exc_info=(kind, problem, trace))
