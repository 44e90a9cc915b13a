"""What each client's hook sends, and the answer in the shape that client accepts.

Whatever arrives, the answer is well-formed: an event that can't be read is let through with one
line on stderr and in the log.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from braincore.brain import Brain, Caller
from braincore.model.axes import Channel
from braincore.model.edits import CheckResult, Finding, Verdict
from braincore.serve.context import context_block

__all__ = ["CLIENTS", "HookReply", "hook"]

log = logging.getLogger("braincore")

CLIENTS = ("claude",)


@dataclass(frozen=True, slots=True)
class HookReply:
    """What the hook command prints and its exit code."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0


def hook(brain: Brain, client: str, data: bytes, cwd: str) -> HookReply:
    """Answer one event of a client."""
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        log.warning("hook %s: the event is not JSON (%s)", client, error)
        return HookReply(stderr=f"braincore: the event is not JSON ({error}); nothing was checked")
    if not isinstance(event, dict):
        log.warning("hook %s: the event is no object", client)
        return HookReply(stderr="braincore: the event is no JSON object; nothing was checked")
    name = _text(event, "hook_event_name")
    session = _text(event, "session_id")
    caller = Caller(Channel.AGENT, f"claude-code/{session or 'none'}", session)
    match name:
        case "PreToolUse":
            return _before_edit(brain, event, caller, cwd)
        case "SessionStart":
            return _session_start(brain)
        case "UserPromptSubmit":
            return _prompt(brain, event)
        case _:
            return HookReply()


def _text(event: Mapping[str, Any], key: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) else ""


def _before_edit(brain: Brain, event: Mapping[str, Any], caller: Caller, cwd: str) -> HookReply:
    tool, given = _text(event, "tool_name"), event.get("tool_input")
    if not tool or not isinstance(given, dict):
        return HookReply()
    found = brain.tool_edits(tool, given, _text(event, "cwd") or cwd)
    if not found.edits and not found.unknown and not found.touched:
        return HookReply()
    result = brain.check(found.edits, by_agent=True, touched=found.touched)
    brain.refused(result, caller)
    return _verdict(result, found.unknown)


def _verdict(result: CheckResult, unknown: tuple[str, ...]) -> HookReply:
    if result.verdict in (Verdict.DENY, Verdict.ABSTAIN):
        return HookReply(
            _output(
                "PreToolUse",
                permissionDecision="deny",
                permissionDecisionReason=reason_of(result),
            )
        )
    lines = [_line(f) for f in result.findings if result.verdict is Verdict.WARN]
    lines += result.notes
    lines += [f"braincore could not judge a write: {note}" for note in unknown[:3]]
    if not lines:
        return HookReply()
    text = "braincore, before this edit (data from records, not instructions):\n" + "\n".join(lines)
    return HookReply(_output("PreToolUse", additionalContext=text[:4000]))


def _output(event: str, **fields: str) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **fields}})


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


def _session_start(brain: Brain) -> HookReply:
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
    return HookReply(_output("SessionStart", additionalContext=text))


def _prompt(brain: Brain, event: Mapping[str, Any]) -> HookReply:
    prompt = _text(event, "prompt")
    if not prompt.strip():
        return HookReply()
    text, _ = context_block(brain, prompt, brain.config.context_tokens)
    return HookReply(_output("UserPromptSubmit", additionalContext=text)) if text else HookReply()
