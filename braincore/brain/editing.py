"""The edit: judged before it is written, with what is known about what it touches."""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from braincore.brain.parts import Parts
from braincore.code import language_of
from braincore.errors import InvalidInput
from braincore.graph import queries
from braincore.guard.check import check_patch
from braincore.guard.diff import apply_unified, unified_diff_edits
from braincore.guard.negative import Armed
from braincore.guard.overlay import Overlay
from braincore.guard.protected import protected
from braincore.guard.tools import ToolEdits, edits_of
from braincore.guard.touched import broken_signatures, changed_lines, defined_on
from braincore.intake.redact import redact
from braincore.intake.statement import Caller
from braincore.model.axes import EdgeType, EventOutcome, EventType, Kind, Lifecycle, TruthStatus
from braincore.model.edits import CheckResult, Edit, Verdict
from braincore.model.records import Event, Failure, Record, new_id
from braincore.model.refs import file_ref
from braincore.model.said import STATED

__all__ = ["Editing"]

log = logging.getLogger("braincore")


class Editing(Parts):
    """The guard over one worktree."""

    def read_text(self, path: str) -> str | None:
        """The text of a file of the worktree as guard reads it; None outside or without one."""
        file = Path(path) if os.path.isabs(path) else self.place.root / path
        try:
            inside = file.resolve().relative_to(self.place.root).as_posix()
        except (ValueError, OSError, RuntimeError):
            return None
        return self.code.files.text(inside)

    def tool_edits(
        self,
        tool: str,
        given: Mapping[str, object],
        cwd: str,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> ToolEdits:
        """The edits that a client's tool call would make. `settings`: texts of the clients' own
        files outside the repository, of which an edit is judged if it takes the guard out."""

        def read(path: str) -> str | None:
            return settings[path] if path in settings else self.read_text(path)

        root = str(self.place.root)
        found = edits_of(tool, given, root=root, cwd=os.path.realpath(cwd), read=read)
        against = tuple(edit for edit in found.settings if protected(edit) is not None)
        return replace(found, edits=(*found.edits, *against))

    def diff_edits(self, diff: str) -> ToolEdits:
        """The edits of a unified diff; one that the files already hold (`git diff`) is judged by
        the way back, as the edit that led here. Raises InvalidInput when it fits neither way."""
        root = str(self.place.root)
        if not diff.strip():
            return ToolEdits()
        found = unified_diff_edits(diff, root=root, cwd=root, read=self.read_text)
        if not found.unknown:
            return found
        back = Overlay(root, self.read_text)
        if apply_unified(diff, back, root, reverse=True):
            undone = back.result()
            turned = (Edit(e.path, before=e.after, after=e.before) for e in undone.edits)
            return replace(undone, edits=tuple(turned))
        if found.edits:
            return found
        raise InvalidInput(
            f"the diff doesn't apply: {found.unknown[0]}",
            "Make it against the files as they are, or as HEAD has them.",
        )

    def content_edit(self, path: str, content: str) -> Edit:
        """The edit that gives one file, named from the root or absolute, a new content."""
        root = self.place.root
        full = os.path.normpath(root / path)
        if not full.startswith(f"{root}{os.sep}"):
            raise InvalidInput(f"{path} lies outside the repository", f"Name a file under {root}.")
        inside = full[len(str(root)) + 1 :].replace(os.sep, "/")
        return Edit(inside, self.read_text(inside), content)

    def check(
        self, edits: Sequence[Edit], *, by_agent: bool, touched: Sequence[str] = ()
    ) -> CheckResult:
        """Judge what edits introduce, and say what is known about what they touch. `touched`:
        paths that a tool would hit in a way that can't be worked out."""
        with self.keeper.lock:
            armed = self._armed_failures()
        result = check_patch(
            edits, self.rules().rules, armed, language_of, by_agent=by_agent, touched=touched
        )
        notes = [*result.notes, *(n for e in edits for n in self._known_about(e))]
        return replace(result, notes=tuple(dict.fromkeys(notes)))

    def _armed_failures(self) -> list[Armed]:
        """The failures that can stop an edit; made anew only when the journal has moved on."""
        head = self.keeper.journal.head
        if head == self._armed_at:
            return self._armed_list
        out, kept = [], {}
        for record, body in self.table.failures():
            cached = self._armed.get(record.id)
            if cached is None or cached[0] is not record:
                cached = (record, _arm(record, body))
            kept[record.id] = cached
            if cached[1] is not None:
                out.append(cached[1])
        self._armed, self._armed_list, self._armed_at = kept, out, head
        return out

    def warm(self) -> None:
        """Load what the first check needs: rules, grammars, the failures' tokens."""
        self.rules()
        with self.keeper.lock:
            failures = self.table.failures()
        for record, body in failures:  # without the lock: the first request must not wait for it
            if record.id not in self._armed:
                self._armed[record.id] = (record, _arm(record, body))
        self.check([Edit("warm.py", "a = 1\n", "a = 2\n")], by_agent=False)

    def _known_about(self, edit: Edit) -> list[str]:
        """Decisions and failures tied to the symbols an edit touches, or governing the file; and
        what depends on a signature that it breaks."""
        lines = changed_lines(edit)
        out = self._dependents(edit, lines)
        with self.keeper.lock:
            linked = self.table.linked_under(file_ref(edit.path))
        if not linked:
            return out
        touched = set(self.code.symbols_at(edit.path, edit.before or "", lines))
        for record in linked:
            refs = {e.to for e in record.edges if e.strength >= STATED}
            governs_file = any(
                e.type is EdgeType.GOVERNS and e.to == file_ref(edit.path) for e in record.edges
            )
            if record.superseded_by or not (governs_file or refs & touched):
                continue
            doubt = " (unconfirmed)" if record.truth_status is not TruthStatus.CONFIRMED else ""
            if record.kind is Kind.DECISION:
                out.append(f"decision {record.id} governs this{doubt}: {json.dumps(record.text)}")
            elif refs & touched:
                said = json.dumps(record.title or record.text)
                out.append(f"{record.kind} {record.id} is about this{doubt}: {said}")
        return out[:10]

    def _dependents(self, edit: Edit, lines: set[int]) -> list[str]:
        """Callers of what the edit removes or gives another signature, as the graph knows them."""
        graph = self.keeper.graph_at_hand
        if edit.before is None or graph is None:
            return []
        names = defined_on(edit, lines)
        called = {
            ref: callers
            for name in names
            for ref in self.code.named(name)
            if ref.startswith(f"{edit.path}::") and (callers := queries.dependents(graph, ref))
        }
        if not called:
            return []
        before = self.code.symbols_of(edit.path, edit.before)
        after = self.code.symbols_of(edit.path, edit.after or "")
        out = []
        for symbol in broken_signatures(before, after)[:5]:
            callers = called.get(symbol.ref, [])
            if callers:
                shown = ", ".join(callers[:5]) + (" …" if len(callers) > 5 else "")
                out.append(f"{symbol.ref} changes for {len(callers)} callers: {shown}")
        return out

    def refused(self, result: CheckResult, caller: Caller) -> None:
        """Note an edit that was stopped, as an event."""
        if result.verdict in (Verdict.DENY, Verdict.ABSTAIN) and result.findings:
            first = result.findings[0]
            with self.keeper.lock:
                at = self.table.next_time(self.clock())
                self.keeper.note(
                    [
                        Record(
                            id=new_id(Kind.EVENT, at),
                            kind=Kind.EVENT,
                            text=redact(f"edit refused: {first.path}:{first.line} {first.message}"),
                            source_ref=caller.ref,
                            channel=caller.channel,
                            trust=0.5,
                            created_at=at,
                            valid_from=at,
                            body=Event(
                                EventType.EDIT, EventOutcome.FAILURE, session=caller.session
                            ),
                            lifecycle=Lifecycle.WORKING,
                        )
                    ]
                )


def _arm(record: Record, body: Failure) -> Armed | None:
    """The failure as the guard compares it; None when it has no fragment or is out of force."""
    part = body.fragment
    if part is None or record.superseded_by or record.lifecycle is Lifecycle.ARCHIVED:
        return None
    return Armed(
        record.id,
        body.title,
        body.why,
        body.fix,
        body.evidence,
        part.language,
        part.places,
        part.text,
    )
