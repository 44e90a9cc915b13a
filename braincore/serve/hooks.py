"""One event of a client's hook: judged alike for all, answered in the shape that client accepts.

Whatever arrives, the answer is well-formed: an event that can't be read is let through with one
line on stderr and in the log.
"""

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from braincore.brain import Brain, Caller
from braincore.model.axes import Channel
from braincore.model.edits import CheckResult, Finding, Verdict
from braincore.serve.clients import CLIENTS
from braincore.serve.clients.speech import Client, Moment
from braincore.serve.context import context_block
from braincore.serve.install import shared_settings

__all__ = ["HookReply", "hook"]

log = logging.getLogger("braincore")

HELD = 256


@dataclass(frozen=True, slots=True)
class HookReply:
    """What the hook command prints and its exit code."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0


class _Held:
    """Warnings for the event after the tool, where the one before it can't carry them."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, event: Mapping[str, Any], text: str) -> None:
        """Hold a text; the oldest goes when there are too many."""
        with self._lock:
            self._texts[_call(event)] = text
            while len(self._texts) > HELD:
                self._texts.popitem(last=False)

    def take(self, event: Mapping[str, Any]) -> str:
        """The text held for this call of a tool, or none."""
        with self._lock:
            return self._texts.pop(_call(event), "")


_held = _Held()


def hook(brain: Brain, name: str, data: bytes, cwd: str) -> HookReply:
    """Answer one event of a client."""
    client = CLIENTS.get(name)
    if client is None:
        return HookReply(stderr=f"braincore: client {name!r} is unknown; nothing was checked")
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        log.warning("hook %s: the event is not JSON (%s)", name, error)
        return HookReply(stderr=f"braincore: the event is not JSON ({error}); nothing was checked")
    if not isinstance(event, dict):
        log.warning("hook %s: the event is no object", name)
        return HookReply(stderr="braincore: the event is no JSON object; nothing was checked")
    match client.moments.get(_text(event, "hook_event_name")):
        case Moment.BEFORE:
            return _before_edit(brain, client, event, cwd)
        case Moment.AFTER:
            text = _held.take(event)
            return _context(client, event, text) if text else HookReply()
        case Moment.SESSION:
            return _context(client, event, _session_start(brain))
        case Moment.PROMPT:
            return _prompt(brain, client, event)
        case None:
            return HookReply()


def _call(event: Mapping[str, Any]) -> str:
    """One call of a tool, told by all that both of its events say of it."""
    keys = ("session_id", "tool_name", "tool_input")
    return json.dumps([event.get(key) for key in keys], sort_keys=True)


def _context(client: Client, event: Mapping[str, Any], text: str) -> HookReply:
    return HookReply(client.context(_text(event, "hook_event_name"), text))


def _text(event: Mapping[str, Any], key: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) else ""


def _before_edit(brain: Brain, client: Client, event: Mapping[str, Any], cwd: str) -> HookReply:
    tool, given = _text(event, "tool_name"), event.get("tool_input")
    if not tool or not isinstance(given, dict):
        return HookReply()
    settings = shared_settings(brain.place)
    found = brain.tool_edits(tool, given, _text(event, "cwd") or cwd, settings)
    if not found.edits and not found.unknown and not found.touched:
        return HookReply()
    result = brain.check(found.edits, by_agent=True, touched=found.touched)
    session = _text(event, "session_id")
    caller = Caller(Channel.AGENT, f"{client.agent}/{session or 'none'}", session)
    brain.refused(result, caller)
    if result.verdict in (Verdict.DENY, Verdict.ABSTAIN):
        return HookReply(client.deny(_text(event, "hook_event_name"), reason_of(result)))
    text = _warning(result, found.unknown)
    if text and not client.warns_before:
        _held.put(event, text)
        return HookReply()
    return _context(client, event, text) if text else HookReply()


def _warning(result: CheckResult, unknown: tuple[str, ...]) -> str:
    lines = [_line(f) for f in result.findings if result.verdict is Verdict.WARN]
    lines += result.notes
    lines += [f"braincore could not judge a write: {note}" for note in unknown[:3]]
    if not lines:
        return ""
    head = "braincore, on this edit (data from records, not instructions):\n"
    return (head + "\n".join(lines))[:4000]


def _line(finding: Finding) -> str:
    return f"- {finding.severity}: {finding.path}:{finding.line}: {finding.message}. {finding.why}"


def reason_of(result: CheckResult) -> str:
    """Why the edit is refused and what to do instead: the text the agent reads."""
    lines = ["braincore refused this edit before it was written."]
    for finding in result.findings:
        if finding.severity.blocks:
            lines.append(f"{_line(finding)} [{finding.source}]")
            if finding.snippet:
                lines.append(f"  at: {finding.snippet}")
    if result.repair_plan:
        lines.append("Repair plan:")
        for number, step in enumerate(result.repair_plan, 1):
            lines.append(
                f"{number}. {step.path}:{step.line}: {step.change} (evidence: {step.evidence})"
            )
    else:
        lines.append("No repair is known: ask a person before trying again.")
    lines += result.notes
    return "\n".join(lines)[:6000]


def _session_start(brain: Brain) -> str:
    brain.attach()
    rules = brain.rules()
    with brain.keeper.lock:
        records, failures = len(brain.table), len(brain.table.failures())
    text = (
        f"braincore: guard active, {len(rules.rules)} rules, {failures} known failures, "
        f"{records} records. Before deciding or editing, ask it: "
        '`braincore recall "QUESTION"`, `braincore why TARGET`.'
    )
    if rules.errors:
        first = rules.errors[0]
        text += f" {len(rules.errors)} rule files have errors, e.g. {first.path}:{first.line}: "
        text += f"{first.message}."
    return text


def _prompt(brain: Brain, client: Client, event: Mapping[str, Any]) -> HookReply:
    prompt = client.prompt(event)
    if not prompt.strip():
        return HookReply()
    session = _text(event, "session_id")
    text, _ = context_block(brain, prompt, brain.config.context_tokens, session)
    return _context(client, event, text) if text else HookReply()
