"""A verb's answer as a tool's result: short lines to read, and the same as an object.

Progressive detail: recall, related and context give ids and one line each; `why` has the rest.
What was remembered is quoted, so that it reads as data.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from braincore.model.times import age

__all__ = ["result_of"]

Body = Mapping[str, Any]
MAX_TEXT = 300
MAX_ROWS = 40


def quoted(text: str, most: int = MAX_TEXT) -> str:
    """One line in double quotes that can't close a block or begin a tag."""
    line = " ".join(text.split())
    line = line if len(line) <= most else line[: most - 1] + "…"
    return json.dumps(line, ensure_ascii=False).replace("<", "‹").replace(">", "›")


def result_of(tool: str, body: Body, now: datetime) -> tuple[str, dict[str, Any]]:
    """Text and object of a tool's result."""
    return _FORMS[tool](body, now)


def _line(row: Body, now: datetime) -> str:
    title = row.get("title") or ""
    text = row["text"] if not title or title in row["text"] else f"{title}: {row['text']}"
    marks = [row["source_ref"], age(row["created_at"], now), *row.get("flags", ())]
    return f"- [{row['id']}] {quoted(text)} ({', '.join(marks)})"


def _short(row: Body) -> dict[str, Any]:
    text = row["text"] if len(row["text"]) <= MAX_TEXT else row["text"][: MAX_TEXT - 1] + "…"
    keys = ("id", "kind", "title", "target", "source_ref", "created_at", "flags", "valid_until")
    return {"text": text} | {k: row[k] for k in keys if row.get(k)}


def _recall(body: Body, now: datetime) -> tuple[str, dict[str, Any]]:
    out: dict[str, Any] = {"outcome": body["outcome"], "total": body["total"]}
    out["facts"] = [_short(f) for f in body["facts"]]
    out["rejected"] = list(body["rejected"])
    lines = [f"{body['outcome']}: {body['total']} on record"]
    lines += [_line(f, now) for f in body["facts"]]
    if body["outcome"] == "abstain":
        out |= {"reason": body["reason"], "task": body["task"], "next": body["next"]}
        lines = [f"abstain: {body['reason']}. {out['next']}"]
        lines += [f"task {body['task']}"] if body["task"] else []
    lines += [f"withheld {r['id']}: {r['reason']}" for r in body["rejected"]]
    return "\n".join(lines), out


def _stored(body: Body, now: datetime) -> tuple[str, dict[str, Any]]:
    keys = ("outcome", "id", "duplicate", "kind", "truth_status", "lifecycle", "trust", "notes")
    out = {k: body[k] for k in keys}
    said = "already known, strengthened" if body["duplicate"] else "stored"
    lines = [f"{said}: {body['id']} ({body['truth_status']}, trust {body['trust']:.2f})"]
    return "\n".join([*lines, *(f"note: {n}" for n in body["notes"])]), out


def _decided(body: Body, now: datetime) -> tuple[str, dict[str, Any]]:
    if body["outcome"] != "conflict":
        text, out = _stored(body, now)
        return text, out | {"conflicts": []}
    out = {k: body[k] for k in ("outcome", "reason", "next")}
    out["conflicts"] = [_short(r) for r in body["conflicts"]]
    lines = [f"conflict: {body['reason']}. {body['next']}"]
    return "\n".join([*lines, *(_line(r, now) for r in body["conflicts"])]), out


def _why(body: Body, now: datetime) -> tuple[str, dict[str, Any]]:
    if not body["chains"]:
        return f"abstain: {body['reason']}. {body['next']}", dict(body)
    lines = []
    for chain in body["chains"]:
        for one in chain:
            state = "in force" if one["in_force"] else f"superseded by {one['superseded_by'][0]}"
            marks = f"{state}, {one['truth_status']}, {age(one['created_at'], now)}"
            lines.append(f"[{one['id']}] {quoted(one['title'])} ({marks}, {one['source_ref']})")
            lines.append(f"  problem: {quoted(one['problem'], 1000)}")
            lines += [
                f"  rejected: {quoted(a['option'])}: {quoted(a['rejected_because'])}"
                for a in one["alternatives"]
            ]
            lines.append(f"  decision: {quoted(one['decision'], 1000)}")
            lines.append(f"  because: {quoted(one['reasoning'], 1000)}")
            lines += [f"  outcome: {quoted(one['outcome'], 1000)}"] if one["outcome"] else []
            lines += [f"  {e['type'].lower()}: {e['to']}" for e in one["edges"]]
            lines += [f"  not there any more: {ref}" for ref in one["stale"]]
    return "\n".join(lines), dict(body)


def _checked(body: Body, now: datetime) -> tuple[str, dict[str, Any]]:
    out = dict(body)
    lines = [f"{body['verdict']}. {body['next']}" if body["next"] else str(body["verdict"])]
    for one in body["findings"]:
        source = one.get("rule") or one.get("record")
        lines.append(
            f"- {one['path']}:{one['line']} {one['severity']}: {one['message']} [{source}]"
        )
        lines.append(f"  why: {quoted(one['why'], 1000)}")
    for number, step in enumerate(body["repair_plan"], 1):
        lines.append(f"repair {number}: {step['path']}:{step['line']}: {step['change']}")
        lines.append(f"  evidence: {step['evidence']}")
    return "\n".join([*lines, *(f"note: {n}" for n in body["notes"])]), out


def _related(body: Body, now: datetime) -> tuple[str, dict[str, Any]]:
    out = {
        "ref": body["ref"],
        "records": [_short(r) for r in body["records"][:MAX_ROWS]],
        "code": list(body["code"][:MAX_ROWS]),
        "dependents": list(body["dependents"][:MAX_ROWS]),
        "more": max(0, len(body["records"]) - MAX_ROWS)
        + max(0, len(body["code"]) - MAX_ROWS)
        + max(0, len(body["dependents"]) - MAX_ROWS),
    }
    lines = [str(body["ref"]), *(_line(r, now) for r in body["records"][:MAX_ROWS])]
    lines += [f"{c['direction']} {c['relation']}: {c['ref']}" for c in out["code"]]
    lines += [f"depends on it: {ref}" for ref in out["dependents"]]
    return "\n".join([*lines, f"{out['more']} more"] if out["more"] else lines), out


def _context(body: Body, now: datetime) -> tuple[str, dict[str, Any]]:
    return body["text"] or "nothing on record is about this", dict(body)


def _rows(key: str, line: Callable[[Any], str]) -> Callable[[Body, datetime], Any]:
    def form(body: Body, now: datetime) -> tuple[str, dict[str, Any]]:
        rows: Sequence[Any] = body[key][:MAX_ROWS]
        return "\n".join(map(line, rows)) or "none", {key: list(rows), "total": len(body[key])}

    return form


def _task_line(row: Body) -> str:
    return f"- [{row['id']}] {quoted(row['query'])} asked {row['asked']}×: {row['needs']}"


def _review_line(row: Body) -> str:
    about = ", ".join(c["ref"] for c in row["candidates"])
    return f"- [{row['id']}] {quoted(row['subject'])}: {row['reason']} ({about})"


def _status(body: Body, now: datetime) -> tuple[str, dict[str, Any]]:
    plain = {k: v for k, v in body.items() if not isinstance(v, (dict, list))}
    return "\n".join(f"{k}: {v}" for k, v in plain.items()), dict(body)


_FORMS: Mapping[str, Callable[[Body, datetime], tuple[str, dict[str, Any]]]] = {
    "remember": _stored,
    "recall": _recall,
    "why": _why,
    "decide": _decided,
    "record_failure": _stored,
    "check_edit": _checked,
    "related": _related,
    "context": _context,
    "tasks": _rows("tasks", _task_line),
    "review": _rows("reviews", _review_line),
    "status": _status,
}
