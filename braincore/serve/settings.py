"""Merge braincore's hooks and MCP entry into a client's JSON settings text and take them out again.

Pure functions from text to text. The user's comments, byte order mark, line ends, indentation
and hooks stay as they are: a merge inserts text, it doesn't write the document anew. Read and
write the file with `newline=""`, so that CRLF survives. The dialect is JSON with comments and
trailing commas. A text that can't be used raises InvalidInput and nothing has happened yet.
"""

import json
import os.path
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from braincore.errors import InvalidInput
from braincore.serve.jsonc import (
    Document,
    Edit,
    Item,
    Node,
    applied,
    cut,
    insert,
    is_blank,
    only_braces,
)

__all__ = [
    "SERVER",
    "SERVER_MODULE",
    "HookEntry",
    "hook_command",
    "is_ours",
    "merge_hooks",
    "merge_server",
    "our_commands",
    "remove_hooks",
    "remove_server",
    "server_shape",
    "uninstall_text",
]

MARK = re.compile(r"/braincore/serve/hook_client\.py(?![\w.-])")
LOADER = (
    'import sys;sys.path.append(sys.argv[1].rpartition("/")[0]);'
    "import hook_client;hook_client.run()"
)
SERVER = "braincore"
SERVER_MODULE = "braincore.serve.mcp_stdio"


@dataclass(frozen=True, slots=True)
class HookEntry:
    """One hook of ours: the tools it matches (None: no matcher), its command, and the time
    allowed, in the client's own unit."""

    matcher: str | None
    command: str
    timeout: int


Path = tuple[tuple[Node, Item], ...]


def hook_command(python: str, client_file: str, client: str) -> str:
    """The shell command for `client`: absolute interpreter and hook client, quoted where needed.

    The client is imported, not run, so that its bytecode is cached; should its file be missing,
    the exit code is 1 and the edit goes through (running a missing file would exit with 2, which
    blocks it).
    """
    for path in (python, client_file):
        if not os.path.isabs(path):
            raise InvalidInput(f"The hook's path {path!r} is relative", "Give an absolute path.")
    if not is_ours(client_file):
        raise InvalidInput(f"{client_file!r} isn't the hook client", "Give hook_client.py's path.")
    return shlex.join([python, "-S", "-E", "-I", "-c", LOADER, client_file, client])


def is_ours(command: str) -> bool:
    """Whether a hook's command runs braincore's hook client, wherever that is installed."""
    return MARK.search(command.replace("\\", "/")) is not None


def merge_hooks(
    text: str | None, entries: Mapping[str, Sequence[HookEntry]], original: str | None = None
) -> str:
    """`text` with exactly `entries` (by event) as our hooks; None stands for a missing file.

    What is right already stays untouched, so merging twice changes nothing more. An older entry
    of ours for the same event and matcher gets the new command and timeout in place; one that is
    no longer wanted goes as `remove_hooks` with `original` would take it.
    """
    for entry in (entry for group in entries.values() for entry in group):
        if not is_ours(entry.command):
            raise InvalidInput(f"{entry.command!r} isn't a hook of ours", "Use hook_command.")
    text = _begun(text)
    _check_shape(Document(text), entries)
    return _converge(text, entries, original)


def remove_hooks(text: str, original: str | None = None) -> str | None:
    """`text` without our hooks; None when nothing but what we created would be left.

    Containers that this empties go too, except those that hold comments or that `original`,
    the text before we came, has as well. Everything else stays.
    """
    if is_blank(text):
        return text
    return _left(text, _converge(text, {}, original), original)


def merge_server(text: str | None, path: Sequence[str], command: Sequence[str]) -> str:
    """`text` with our MCP server among the servers under `path`; None stands for a missing file.

    An older entry of ours gets the new command and arguments in place and keeps its other keys.
    """
    text = _begun(text)
    wanted: dict[str, object] = {"command": command[0], "args": list(command[1:])}
    while edits := _server_edits(Document(text), path, wanted):
        text = applied(text, edits)
    return text


def remove_server(text: str, path: Sequence[str], original: str | None = None) -> str | None:
    """`text` without our MCP server under `path`, by the rules of `remove_hooks`."""
    if is_blank(text):
        return text
    document = Document(text)
    way = _way(document.root, path)
    entry = way[-1][1].value.member(SERVER) if len(way) == len(path) else None
    if entry is None or not _is_our_server(entry.value):
        return text
    kept = 0 if original is None or is_blank(original) else len(_way(Document(original).root, path))
    way.append((way[-1][1].value, entry))
    level = len(way) - 1
    while level > kept and len(way[level][0].items) == 1:
        inner, outer = way[level][1], way[level - 1][1]
        span = (inner.start, inner.value.end)
        if document.commented(outer.start, outer.value.end, span):
            break
        level -= 1
    return _left(text, applied(text, cut(document, *way[level])), original)


def server_shape(text: str | None, path: Sequence[str]) -> str | None:
    """Which of the objects along `path` a text has, as the smallest text that has them too."""
    if text is None or is_blank(text):
        return text
    shape: dict[str, object] = {}
    for key in reversed(path[: len(_way(Document(text).root, path))]):
        shape = {key: shape}
    return json.dumps(shape)


def our_commands(text: str, event: str) -> list[str]:
    """The commands of our hooks for an event; none of a text that can't be read."""
    try:
        paths = list(_ours(Document(text)))
    except InvalidInput:
        return []
    found = [(p[1][1].key, p[4][1].value.member("command")) for p in paths]
    return [str(c.value.scalar) for key, c in found if key == event and c is not None]


def uninstall_text(current: str, original: str | None, installed: str) -> str | None:
    """What to write at uninstall; None: delete the file, which `original` None says was not there.

    Byte for byte `original` when `current` is still the `installed` text that was made from it,
    else a removal that keeps the user's later edits. To install again over edited settings,
    take `uninstall_text(current, original, installed)` as the new original first.
    """
    return original if current == installed else remove_hooks(current, original)


def _begun(text: str | None) -> str:
    """A text with an object in it."""
    if text is None:
        return "{}\n"
    return text[: text.startswith("\ufeff")] + "{}\n" if is_blank(text) else text


def _left(text: str, result: str, original: str | None) -> str | None:
    if result == text or not only_braces(result):
        return result
    return original if original is None or is_blank(original) else result


def _way(root: Node, path: Sequence[str]) -> list[tuple[Node, Item]]:
    """The members along a path as far as there are objects, each with what it stands in."""
    way: list[tuple[Node, Item]] = []
    node = root
    for key in path:
        item = node.member(key)
        if item is None or item.value.kind != "{":
            break
        way.append((node, item))
        node = item.value
    return way


def _is_our_server(node: Node) -> bool:
    arguments = node.member("args")
    items = arguments.value.items if arguments else []
    return any(item.value.scalar == SERVER_MODULE for item in items)


def _server_edits(
    document: Document, path: Sequence[str], wanted: Mapping[str, object]
) -> list[Edit]:
    way = _way(document.root, path)
    container = way[-1][1].value if way else document.root
    missing = path[len(way) :]
    if missing and container.member(missing[0]) is not None:
        name = ".".join([*path[: len(way)], missing[0]])
        raise InvalidInput(
            f'"{name}" in the settings is no object', "Mend it; the file was left as it is."
        )
    entry = None if missing else container.member(SERVER)
    if entry is None:
        value: object = wanted
        for key in reversed([*missing[1:], SERVER] if missing else []):
            value = {key: value}
        return insert(document, container, missing[0] if missing else SERVER, value)
    if not _is_our_server(entry.value):
        raise InvalidInput(
            f'The settings have another MCP server named "{SERVER}"',
            "Rename or remove it; the file was left as it is.",
        )
    return _update(document, entry.value, wanted)


def _value_of(node: Node) -> object:
    """The value, as far as an entry of ours may hold it."""
    return [item.value.scalar for item in node.items] if node.kind == "[" else node.scalar


def _update(document: Document, node: Node, values: Mapping[str, object]) -> list[Edit]:
    for key, value in values.items():
        member = node.member(key)
        if member is None:
            return insert(document, node, key, value)
        if _value_of(member.value) != value:
            return [(member.value.start, member.value.end, json.dumps(value, ensure_ascii=False))]
    return []


def _check_shape(document: Document, entries: Mapping[str, Sequence[HookEntry]]) -> None:
    hint = "Mend it; the file was left as it is."
    if sum(item.key == "hooks" for item in document.root.items) > 1:
        raise InvalidInput('The settings have the key "hooks" twice', hint)
    hooks = document.root.member("hooks")
    if hooks is None:
        return
    if hooks.value.kind != "{":
        raise InvalidInput('"hooks" in the settings is no object', hint)
    keys = [item.key for item in hooks.value.items]
    for item in hooks.value.items:
        if keys.count(item.key) > 1:
            raise InvalidInput(f'"hooks" in the settings has the key "{item.key}" twice', hint)
        if item.key in entries and item.value.kind != "[":
            raise InvalidInput(f'"{item.key}" under "hooks" in the settings is no array', hint)


def _ours(document: Document) -> Iterator[Path]:
    """The way from the root to each handler of ours: hooks, event, group, its hooks, handler."""
    root = document.root
    for hooks in (item for item in root.items if item.key == "hooks"):
        for event in hooks.value.items if hooks.value.kind == "{" else ():
            for group in event.value.items if event.value.kind == "[" else ():
                for inner in (item for item in group.value.items if item.key == "hooks"):
                    for handler in inner.value.items if inner.value.kind == "[" else ():
                        command = handler.value.member("command")
                        if command and is_ours(str(command.value.scalar)):
                            yield (
                                (root, hooks),
                                (hooks.value, event),
                                (event.value, group),
                                (group.value, inner),
                                (inner.value, handler),
                            )


def _converge(text: str, wanted: Mapping[str, Sequence[HookEntry]], original: str | None) -> str:
    """Edit step by step until our hooks are the wanted ones."""
    before = None if original is None or is_blank(original) else Document(original)
    while edits := _next_edits(Document(text), wanted, before):
        text = applied(text, edits)
    return text


def _next_edits(
    document: Document, wanted: Mapping[str, Sequence[HookEntry]], before: Document | None
) -> list[Edit]:
    found = list(_ours(document))
    for event, entries in wanted.items():
        for entry in entries:
            same = [path for path in found if _serves(path, event, entry.matcher)]
            if not same:
                return _add(document, event, entry)
            found.remove(same[0])
            values = {"command": entry.command, "timeout": entry.timeout}
            if edits := _update(document, same[0][4][1].value, values):
                return edits
    return _remove(document, found[0], before) if found else []


def _serves(path: Path, event: str, matcher: str | None) -> bool:
    member = path[2][1].value.member("matcher")
    return path[1][1].key == event and (member.value.scalar if member else None) == matcher


def _add(document: Document, event: str, entry: HookEntry) -> list[Edit]:
    handler = {"type": "command", "command": entry.command, "timeout": entry.timeout}
    group: dict[str, object] = {} if entry.matcher is None else {"matcher": entry.matcher}
    group["hooks"] = [handler]
    hooks = document.root.member("hooks")
    if hooks is None:
        return insert(document, document.root, "hooks", {event: [group]})
    present = hooks.value.member(event)
    if present is None:
        return insert(document, hooks.value, event, [group])
    return insert(document, present.value, None, group)


def _remove(document: Document, path: Path, before: Document | None) -> list[Edit]:
    """Cut one handler of ours with the containers that it leaves empty and that were ours."""
    hooks_before = before.root.member("hooks") if before else None
    events_before = {item.key for item in hooks_before.value.items} if hooks_before else set()
    group = path[2][1].value
    handlers, events, hooks = (path[level][0].items for level in (4, 2, 1))
    steps = (
        (2, len(handlers) == 1 and {item.key for item in group.items} <= {"matcher", "hooks"}),
        (1, len(events) == 1 and path[1][1].key not in events_before),
        (0, len(hooks) == 1 and hooks_before is None),
    )
    level = 4
    for above, empty in steps:
        inner, outer = path[level][1], path[above][1]
        span = (inner.start, inner.value.end)
        if not empty or document.commented(outer.start, outer.value.end, span):
            break
        level = above
    return cut(document, *path[level])
