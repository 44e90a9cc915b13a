"""Many files of one commit as a single git pack: ten thousand loose objects take twenty seconds.

The pack is written aside and renamed, then its index; git finds the objects from then on. Until a
commit points at them they are nothing but space, so a crash at any step leaves the journal whole.
"""

import hashlib
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pygit2

__all__ = ["Pack", "grow", "sweep"]

Parts = tuple[str, ...]

_TREE, _BLOB = 2, 3
_NAMES = {_TREE: b"tree", _BLOB: b"blob"}
_UNFINISHED = "tmp_braincore_"
_FILE, _FOLDER = b"100644", b"40000"
_ID = 20
_FAR = 1 << 31
"""Offsets from here on need a table of their own in the index; no batch comes near."""


class Pack:
    """A pack in the making, in memory until `write`."""

    def __init__(self) -> None:
        self._data = bytearray(struct.pack(">4sII", b"PACK", 2, 0))
        self._found: dict[bytes, tuple[int, int]] = {}

    def blob(self, data: bytes) -> bytes:
        """Add a file's bytes; their id."""
        return self._add(_BLOB, data)

    def tree(self, data: bytes) -> bytes:
        """Add a folder as git writes one; its id."""
        return self._add(_TREE, data)

    def _add(self, kind: int, data: bytes) -> bytes:
        whole = b"%s %d\0%s" % (_NAMES[kind], len(data), data)
        made = hashlib.sha1(whole, usedforsecurity=False).digest()
        if made not in self._found:
            # Most of a tree is ids, which don't get smaller whatever the effort.
            entry = _header(kind, len(data)) + zlib.compress(data, 1)
            self._found[made] = (len(self._data), zlib.crc32(entry))
            self._data += entry
        return made

    def write(self, objects: Path, *, fsync: bool) -> None:
        """Put the pack among a repository's objects. Raises OSError; then it isn't there."""
        self._data[8:12] = struct.pack(">I", len(self._found))
        checksum = hashlib.sha1(self._data, usedforsecurity=False).digest()
        folder = objects / "pack"
        folder.mkdir(exist_ok=True)
        name = f"pack-{checksum.hex()}"
        if len(self._data) >= _FAR:
            raise OSError(f"{len(self._data):,} bytes are too many for one pack")
        # The index comes last: without one git doesn't look at a pack.
        _put(folder, f"{name}.pack", self._data + checksum, fsync=fsync)
        _put(folder, f"{name}.idx", self._index(checksum), fsync=fsync)
        if fsync:
            _sync_folder(folder)

    def _index(self, checksum: bytes) -> bytes:
        """Version 2: fan-out by first byte; ids, checksums and offsets, each in order of id."""
        ids = sorted(self._found)
        counts = [0] * 256
        for one in ids:
            counts[one[0]] += 1
        total, fan = 0, []
        for count in counts:
            total += count
            fan.append(total)
        places = [self._found[one] for one in ids]
        body = b"".join(
            (
                struct.pack(">4sI256I", b"\xfftOc", 2, *fan),
                *ids,
                struct.pack(f">{total}I", *(crc for _, crc in places)),
                struct.pack(f">{total}I", *(offset for offset, _ in places)),
                checksum,
            )
        )
        return body + hashlib.sha1(body, usedforsecurity=False).digest()


def grow(
    repo: pygit2.Repository,
    pack: Pack,
    tree: pygit2.Oid | None,
    files: Sequence[tuple[Parts, bytes | None]],
) -> bytes | None:
    """The tree with `files` put in, all that is new in the pack; None when it came out empty."""
    entries = _entries(repo[tree].read_raw()) if tree is not None else {}
    folders: dict[str, list[tuple[Parts, bytes | None]]] = {}
    for parts, data in files:
        name = parts[0].encode()
        if len(parts) > 1:
            folders.setdefault(parts[0], []).append((parts[1:], data))
        elif data is not None:
            entries[name] = (_FILE, pack.blob(data))
        else:
            entries.pop(name, None)
    for folder, inner in folders.items():
        name = folder.encode()
        mode, old = entries.get(name, (_FILE, b""))
        below = pygit2.Oid(raw=old) if mode == _FOLDER else None
        grown = grow(repo, pack, below, inner)
        if grown is not None:
            entries[name] = (_FOLDER, grown)
        else:
            entries.pop(name, None)
    return pack.tree(_tree(entries)) if entries else None


def sweep(objects: Path) -> None:
    """Take away what a crash left half written; one writer at a time. Raises OSError."""
    for stray in (objects / "pack").glob(_UNFINISHED + "*"):
        stray.unlink(missing_ok=True)


def _entries(raw: bytes) -> dict[bytes, tuple[bytes, bytes]]:
    """Name to mode and id, of a tree as git writes one."""
    out = {}
    at, find = 0, raw.index
    while at < len(raw):
        space = find(b" ", at)
        end = find(b"\0", space) + 1
        out[raw[space + 1 : end - 1]] = (raw[at:space], raw[end : end + _ID])
        at = end + _ID
    return out


def _tree(entries: Mapping[bytes, tuple[bytes, bytes]]) -> bytes:
    """A tree as git writes one: folders are sorted as if their names ended in a slash."""
    order = sorted(
        (name + b"/" if mode == _FOLDER else name, name, mode, one)
        for name, (mode, one) in entries.items()
    )
    return b"".join([b"%s %s\0%s" % (mode, name, one) for _, name, mode, one in order])


def _header(kind: int, size: int) -> bytes:
    out = bytearray()
    byte = (kind << 4) | (size & 15)
    size >>= 4
    while size:
        out.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    out.append(byte)
    return bytes(out)


def _put(folder: Path, name: str, data: bytes | bytearray, *, fsync: bool) -> None:
    stray = folder / f"{_UNFINISHED}{name}"
    try:
        with stray.open("wb") as out:
            out.write(data)
            if fsync:
                out.flush()
                os.fsync(out.fileno())
        stray.chmod(0o444)
        stray.replace(folder / name)
    except OSError:
        stray.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
