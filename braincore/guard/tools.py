"""What a coding client's tool call would do to the repository's files, before it does it.

The clients' hooks send a tool's name and its input. Every way to write comes out as the same
`Edit`, so that all of them are judged alike: edit and write tools, notebooks, patches, shell
commands. Nothing here raises, whatever the input: what can't be worked out is named in `unknown`.

For an `.ipynb` file, both texts are the code of its Python cells joined by a blank line, whichever
tool writes it: judge them as Python.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from braincore.guard.notebook import with_cell
from braincore.guard.overlay import Overlay, Read, ToolEdits
from braincore.guard.patch import apply_envelope, apply_unified, is_envelope
from braincore.guard.replace import Refused, Replacement, replaced
from braincore.guard.shell import argv_edits, shell_edits

__all__ = ["Read", "ToolEdits", "edits_of"]

_PATH = ("file_path", "filePath", "notebook_path", "path")
_OLD = ("old_string", "oldString", "old_str")
_NEW = ("new_string", "newString", "new_str")
_ALL = ("replace_all", "replaceAll", "allow_multiple")
_CONTENT = ("content", "contents", "file_text")
_FOLDER = ("workdir", "dir_path", "directory", "cwd")
_COMMAND = ("command", "cmd", "command_line")
_PATCH = ("command", "input", "patchText", "patch")


class _Missing(Exception):
    """A field of the tool's input is missing or of another type than the tool takes."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A tool call's input, and where it is made."""

    tool: str
    fields: Mapping[str, object]
    root: str
    cwd: str
    read: Read

    def text(self, names: Sequence[str]) -> str:
        value = self.optional(names)
        if not isinstance(value, str):
            raise _Missing(f"{self.tool}: `{names[0]}` is missing or is no text")
        return value

    def optional(self, names: Sequence[str]) -> object:
        return next((self.fields[name] for name in names if name in self.fields), None)

    def flag(self, names: Sequence[str]) -> bool:
        return self.optional(names) is True


def edits_of(
    tool_name: str, tool_input: Mapping[str, object], *, root: str, cwd: str, read: Read
) -> ToolEdits:
    """The file edits a tool call would make; empty for tools that write no files.

    `root` is the repository's absolute path and `cwd` the folder the client works in. `read` gives
    a file's text, or None where there is no file; it is asked with a repository-relative path, or
    an absolute one outside the repository.
    """
    tool = _TOOLS.get(tool_name.lower())
    if tool is None:
        return ToolEdits()
    try:
        return tool(_Call(tool_name, tool_input, root, cwd, read))
    except _Missing as problem:
        return ToolEdits(unknown=(str(problem),))


def _replacing(call: _Call, replacements: Sequence[Replacement]) -> ToolEdits:
    """Replacements in order in one file; one the client refuses leaves the file as it is."""
    overlay = Overlay(call.root, call.read)
    path = overlay.absolute(call.text(_PATH), call.cwd)
    if path is None:
        return overlay.result()
    text = overlay.read(path)
    for replacement in replacements:
        if text is not None and not isinstance(text, str):
            return overlay.result()
        try:
            text = replaced(text, replacement)
        except Refused as refusal:
            if refusal.reason:
                overlay.note(f"{overlay.shown(path)}: {refusal.reason}")
            return overlay.result()
    overlay.write(path, text)
    return overlay.result()


def _replacement(call: _Call) -> Replacement:
    expected = call.optional(("expected_replacements",))
    gemini = call.tool == "replace"
    return Replacement(
        old=call.text(_OLD),
        new=call.text(_NEW),
        every=call.flag(_ALL),
        expected=expected if isinstance(expected, int) and expected > 1 else 1,
        # Claude Code's tools are named with capitals; the others also forgive indentation.
        loose=not call.tool[:1].isupper(),
        indents=gemini,
    )


def _edit(call: _Call) -> ToolEdits:
    if isinstance(call.optional(("edits",)), list):
        return _multi_edit(call)
    return _replacing(call, [_replacement(call)])


def _multi_edit(call: _Call) -> ToolEdits:
    edits = call.optional(("edits",))
    if not isinstance(edits, list) or not all(isinstance(edit, dict) for edit in edits):
        raise _Missing(f"{call.tool}: `edits` is missing or is no list of edits")
    calls = [_Call(call.tool, edit, call.root, call.cwd, call.read) for edit in edits]
    return _replacing(call, [_replacement(one) for one in calls])


def _write(call: _Call) -> ToolEdits:
    overlay = Overlay(call.root, call.read)
    content = call.text(_CONTENT)
    path = overlay.absolute(call.text(_PATH), call.cwd)
    if path is not None:
        overlay.write(path, content)
    return overlay.result()


def _notebook_edit(call: _Call) -> ToolEdits:
    overlay = Overlay(call.root, call.read)
    path = overlay.absolute(call.text(_PATH), call.cwd)
    mode = call.optional(("edit_mode",))
    cell = call.optional(("cell_id",))
    kind = call.optional(("cell_type",))
    source = "" if mode == "delete" else call.text(("new_source",))
    for value in (mode, cell, kind):
        if value is not None and not isinstance(value, str):
            raise _Missing(f"{call.tool}: a field is no text")
    raw = None if path is None else overlay.read(path)
    if path is None or not isinstance(raw, str):
        return overlay.result()
    try:
        after = with_cell(
            raw,
            cell if isinstance(cell, str) else None,
            source,
            kind if isinstance(kind, str) else None,
            mode if isinstance(mode, str) else "replace",
        )
    except ValueError as problem:
        overlay.note(f"{overlay.shown(path)}: {problem}")
        return overlay.result()
    overlay.write(path, after)
    return overlay.result()


def _folder(call: _Call, overlay: Overlay) -> str:
    folder = call.optional(_FOLDER)
    inside = overlay.absolute(folder, call.cwd) if isinstance(folder, str) and folder else None
    return inside or call.cwd


def _patch(call: _Call) -> ToolEdits:
    overlay = Overlay(call.root, call.read)
    patch = call.optional(_PATCH)
    if isinstance(patch, list) and patch and all(isinstance(word, str) for word in patch):
        patch = patch[-1]
    if not isinstance(patch, str):
        raise _Missing(f"{call.tool}: there is no patch in its input")
    cwd = _folder(call, overlay)
    if is_envelope(patch):
        apply_envelope(patch, overlay, cwd)
    else:
        apply_unified(patch, overlay, cwd)
    return overlay.result()


def _shell(call: _Call) -> ToolEdits:
    command = call.optional(_COMMAND)
    cwd = _folder(call, Overlay(call.root, call.read))
    if isinstance(command, str):
        return shell_edits(command, root=call.root, cwd=cwd, read=call.read)
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return argv_edits(command, root=call.root, cwd=cwd, read=call.read)
    raise _Missing(f"{call.tool}: `command` is missing or is no command")


_TOOLS: dict[str, Callable[[_Call], ToolEdits]] = {
    **dict.fromkeys(("edit", "replace", "strreplace", "str_replace"), _edit),
    **dict.fromkeys(("multiedit", "multi_edit"), _multi_edit),
    **dict.fromkeys(("write", "write_file", "write_to_file", "create_file"), _write),
    "notebookedit": _notebook_edit,
    **dict.fromkeys(("apply_patch", "patch"), _patch),
    **dict.fromkeys(
        (
            "bash",
            "shell",
            "shell_command",
            "local_shell",
            "run_shell_command",
            "run_terminal_cmd",
            "exec_command",
            "execute_command",
        ),
        _shell,
    ),
}
