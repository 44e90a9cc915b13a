"""Secrets are replaced before the first byte reaches disk, journal, index or log (SPEC §2).

The token shapes are those of the detect-secrets project; the rest are shapes it has no pattern for.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, TypeVar, cast

__all__ = ["redact", "redact_value"]

DETECTORS: tuple[tuple[str, str], ...] = (
    ("aws", "AWSKeyDetector"),
    ("azure_storage_key", "AzureStorageKeyDetector"),
    ("discord", "DiscordBotTokenDetector"),
    ("github_token", "GitHubTokenDetector"),
    ("gitlab_token", "GitLabTokenDetector"),
    ("jwt", "JwtTokenDetector"),
    ("mailchimp", "MailchimpDetector"),
    ("npm", "NpmDetector"),
    ("openai", "OpenAIDetector"),
    ("pypi_token", "PypiTokenDetector"),
    ("sendgrid", "SendGridDetector"),
    ("slack", "SlackDetector"),
    ("square_oauth", "SquareOAuthDetector"),
    ("stripe", "StripeDetector"),
    ("telegram_token", "TelegramBotTokenDetector"),
    ("twilio", "TwilioKeyDetector"),
)

_OWN: tuple[tuple[str, str], ...] = (
    ("private", r"<private>[\s\S]*?(?:</private>|$)"),
    ("private key", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [^-]*-----|$)"),
    ("github token", r"(?<!\w)gh[oprsu]_[A-Za-z0-9]{36,}"),
    ("github token", r"(?<!\w)github_pat_[A-Za-z0-9_]{22,}"),
    ("api key", r"(?<![\w-])sk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]*(?=[A-Za-z0-9_-]*\d)[A-Za-z0-9_]{20,}[A-Za-z0-9_-]*"),
    ("google key", r"(?<!\w)AIza[0-9A-Za-z_-]{35}"),
    ("google token", r"(?<!\w)ya29\.[0-9A-Za-z_-]{20,}"),
    ("hub token", r"(?<!\w)hf_[A-Za-z0-9]{30,}"),
    ("npm token", r"(?<!\w)npm_[A-Za-z0-9]{36}"),
    ("slack token", r"(?<!\w)xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("cloud token", r"(?<!\w)(?:dop|doo|dor)_v1_[a-f0-9]{64}"),
    ("stripe key", r"(?<!\w)(?:sk|rk|whsec)_(?:live|test)?_?[0-9A-Za-z]{24,}"),
)  # fmt: skip

_VALUED: tuple[tuple[str, str], ...] = (
    # The name and the sign stay, so that the sentence still says what was there.
    ("credentials", r"((?<!\w)\w+://[^\s:/@]{1,256}:)((?!\[redacted|[<${*])[^\s:/@]{1,256})(?=@)"),
    ("credentials", r"(?i)(authorization[\"']?\s*[:=]\s*[\"']?(?:basic|bearer|token)\s+)((?=\S*[\d=])[A-Za-z0-9._~+/-]{8,}=*)"),
    ("bearer token", r"(?i)(\b(?:bearer|basic|token)\s+)((?=[^\s\"']*\d)[A-Za-z0-9._~+/-]{20,}=*)"),
    (
        "password",
        r"(?i)((?<![a-z])(?:password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|"
        r"secret[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|client[_-]?secret|token)"
        r"[\"']?\s*(?:=|:(?!:)|:=|=>)\s*)"
        r"(\"[^\"\s]{6,}\"|'[^'\s]{6,}'|(?!\[redacted)(?=[^\s,;\"']*(?:\d|[^\w\s.,;:/()\[\]{}<>$\"'-]))[^\s,;\"'(){}\[\]<>$]{8,})",
    ),
    (
        "password",
        r"(?i)(\b(?:password|passphrase|passwd|pwd)\s+(?:is|was)\s+[\"'`]?)((?!\[redacted)(?=[^\s,;]*[\d!@#%^&*+=~$?])[^\s,;\"'`]{6,})",
    ),
)  # fmt: skip

T = TypeVar("T")


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Compiled on first use: the detectors are not needed to start."""
    out = [(name, re.compile(pattern)) for name, pattern in _OWN]
    for module, name in DETECTORS:
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)
        for pattern in detector.denylist:
            bounded = f"(?<![A-Za-z0-9_])(?:{pattern.pattern})(?![A-Za-z0-9_])"
            out.append((module.replace("_", " "), re.compile(bounded, pattern.flags)))
    return tuple(out)


@lru_cache(maxsize=1)
def _valued() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(pattern)) for name, pattern in _VALUED)


_HINT = re.compile(
    r"[A-Za-z0-9+/_=.\-]{16}|PRIVATE KEY|<private|://|eyJ|xox"
    r"|(?i:pass|pwd|secret|token|key|bearer|basic|credential|auth)"
)
"""Without any of these no pattern below can match: most of what is said is told apart by one look."""


def redact(text: str) -> str:
    """The text with every secret replaced by `[redacted: <what it was>]`."""
    if _HINT.search(text) is None:
        return text
    return _redacted(text)


def _redacted(text: str) -> str:
    for name, pattern in _patterns():
        text = pattern.sub(f"[redacted: {name}]", text)
    for name, pattern in _valued():
        text = pattern.sub(rf"\g<1>[redacted: {name}]", text)
    return text


def redact_value(value: T) -> T:
    """The same value with every string in it redacted: dataclasses, sequences, mappings."""
    return cast(T, _walk(value))


@lru_cache(maxsize=64)
def _fields(of: Any) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(of) if f.init)


def _walk(value: object) -> object:
    if isinstance(value, str) and type(value) is str:
        return redact(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {}
        for name in _fields(type(value)):
            old = getattr(value, name)
            if (new := _walk(old)) is not old:
                changes[name] = new
        return dataclasses.replace(value, **changes) if changes else value
    if isinstance(value, Mapping):
        return {k: _walk(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        walked = [_walk(v) for v in value]
        same = all(new is old for new, old in zip(walked, value, strict=True))
        return value if same else type(value)(walked)  # type: ignore[call-arg]
    return value
