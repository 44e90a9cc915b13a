"""Rule files and config of a worktree: stat'ed on each request, read only when one changed.

What is not committed is mirrored beside the journal, so `git clean -fdx` does not take it away.
"""

import os
import shutil
from pathlib import Path

__all__ = ["RuleFiles", "shipped_rules"]

MAX_RULE_BYTES = 256 * 1024
_ENDINGS = (".yml", ".yaml")

Stamp = tuple[tuple[str, int, int], ...]


def shipped_rules() -> Path:
    """The rule packs that come with braincore: in the wheel, or beside the package."""
    inside = Path(__file__).parent.parent / "_rules"
    return inside if inside.is_dir() else Path(__file__).parent.parent.parent / "rules"


class RuleFiles:
    """The rule files of one `.braincore` folder, after the shipped ones."""

    def __init__(self, brain: Path, mirror: Path) -> None:
        self._brain = brain
        self._mirror = mirror
        self._shipped = shipped_rules()

    def stamp(self) -> Stamp:
        """Changes exactly when a project rule file or the config changes; costs stats only."""
        found = []
        for file in (*_walk(self._brain / "rules"), self._brain / "config.toml"):
            try:
                stat = file.stat()
            except OSError:
                continue
            found.append((str(file), stat.st_mtime_ns, stat.st_size))
        return tuple(found)

    def read(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """(path, text) of every rule file, and (path, problem) of those that can't be read."""
        texts, problems = [], []
        own = self._brain / "rules"
        for base, shown in ((self._shipped, "rules"), (own, ".braincore/rules")):
            for file in _walk(base):
                name = f"{shown}/{file.relative_to(base).as_posix()}"
                try:
                    if file.stat().st_size > MAX_RULE_BYTES:
                        problems.append((name, f"larger than {MAX_RULE_BYTES:,} bytes"))
                        continue
                    texts.append((name, file.read_bytes().decode("utf-8-sig")))
                except UnicodeDecodeError:
                    problems.append((name, "not UTF-8 text"))
                except OSError as error:
                    problems.append((name, error.strerror or "unreadable"))
        return texts, problems

    def config(self) -> str | None:
        """The text of config.toml, or None without one. Raises OSError, UnicodeDecodeError."""
        file = self._brain / "config.toml"
        return file.read_bytes().decode("utf-8-sig") if file.exists() else None

    def mirror(self) -> None:
        """Copy rules and config beside the journal."""
        fresh = self._mirror.with_name(self._mirror.name + ".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True, mode=0o700)
        for file in (*_walk(self._brain / "rules"), self._brain / "config.toml"):
            if file.is_file():
                target = fresh / file.relative_to(self._brain)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
        shutil.rmtree(self._mirror, ignore_errors=True)
        fresh.replace(self._mirror)

    def set_flag(self, name: str, on: bool) -> None:
        """A setting as an empty file in the store, for the hook command that reads no TOML."""
        flag = self._mirror.parent / name
        if on:
            flag.touch(mode=0o600)
        else:
            flag.unlink(missing_ok=True)

    def restore(self) -> list[str]:
        """Bring back what is in the mirror and missing in the worktree; returns the paths."""
        back: list[str] = []
        if not self._mirror.is_dir():
            return back
        for folder, _, names in os.walk(self._mirror):
            for name in names:
                source = Path(folder) / name
                path = source.relative_to(self._mirror)
                target = self._brain / path
                if not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(source, target)
                    back.append(path.as_posix())
        return back


def _walk(folder: Path) -> list[Path]:
    out = []
    for at, folders, names in os.walk(folder):
        folders.sort()
        out += [Path(at) / n for n in sorted(names) if n.endswith(_ENDINGS)]
    return out
