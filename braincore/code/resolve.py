"""From the names a file uses to the symbols and files they mean, where that can be told.

Resolved: names of the same file, `self`/`this` members, names that an import brought in from a file
of the repository. A name that could be several things gets no edge rather than a guessed one.
"""

import posixpath
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache

from braincore.model.symbols import Reference, symbol_ref

__all__ = ["CodeEdge", "module_paths", "resolve"]

_JS_ENDINGS = ("", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".d.ts")


CodeEdge = tuple[str, str, str, int]
"""Type, source, target, line. Source and target are symbol references, or paths for a file."""


@lru_cache(4096)
def module_paths(module: str, folder: str, language: str) -> tuple[str, ...]:
    """The files that an import of `module` in a file of `folder` may mean, most likely first."""
    if language == "python":
        dots = len(module) - len(module.lstrip("."))
        parts = [p for p in module[dots:].split(".") if p]
        if dots:
            base = folder
            for _ in range(dots - 1):
                base = posixpath.dirname(base)
            roots = [base]
        else:
            roots = ["", "src"]
            while folder:  # a script's own folder and those above it are on the path in practice
                roots.append(folder)
                folder = posixpath.dirname(folder)
        out = []
        for root in roots:
            stem = posixpath.join(root, *parts) if parts else root
            out += [f"{stem}.py", f"{stem}.pyi", posixpath.join(stem, "__init__.py")]
        return tuple(p.removeprefix("./") for p in dict.fromkeys(out) if p not in (".py", ".pyi"))
    if not module.startswith("."):
        return ()
    stem = posixpath.normpath(posixpath.join(folder, module))
    if stem.startswith(".."):
        return ()
    out = [stem + ending for ending in _JS_ENDINGS]
    if stem.endswith(
        (".js", ".mjs", ".jsx")
    ):  # TypeScript imports name the file that will be built
        base = stem.rpartition(".")[0]
        out += [base + ".ts", base + ".tsx", base + ".mts"]
    return (*out, *(posixpath.join(stem, f"index{e}") for e in _JS_ENDINGS[1:]))


def resolve(
    path: str,
    language: str,
    references: Iterable[Reference],
    exists: Callable[[str], bool],
    names_in: Callable[[str], Collection[str]],
) -> tuple[list[CodeEdge], list[str]]:
    """The edges out of a file, and every path whose coming, going or change may alter them."""
    own = names_in(path)
    folder = posixpath.dirname(path)
    edges: dict[tuple[str, str, str], int] = {}
    looked_at: dict[str, None] = {}
    modules: dict[str, str | None] = {}

    def found(module: str) -> str | None:
        if module not in modules:
            modules[module] = None
            for candidate in module_paths(module, folder, language):
                looked_at[candidate] = None
                if candidate != path and exists(candidate):
                    modules[module] = candidate
                    break
        return modules[module]

    def add(kind: str, source: str, target: str, line: int) -> None:
        if source != target:
            edges.setdefault((kind, source, target), line)

    for ref in references:
        source = symbol_ref(path, ref.source) if ref.source in own else path
        if ref.type == "IMPORTS":
            target = found(_joined(ref.module, ref.target, language)) or found(ref.module)
            if target is not None:
                add("IMPORTS", path, target, ref.line)
            continue
        if ref.type == "INHERITS" and source == path:
            continue
        local = _local(ref.target, ref.source, own)
        if local is not None:
            add(ref.type, source, symbol_ref(path, local), ref.line)
        elif ref.module:
            hit = _imported(ref.module, ref.target, language, found, names_in)
            if hit is not None:
                add(ref.type, source, hit, ref.line)
    return [(*ends, line) for ends, line in edges.items()], list(looked_at)


def _joined(module: str, name: str, language: str) -> str:
    """`from pkg import name` may mean the module `pkg.name`."""
    if language != "python" or not name or name == module:
        return module
    return module + name if module.endswith(".") else f"{module}.{name}"


def _local(target: str, source: str, own: Collection[str]) -> str | None:
    """The symbol of the same file that a name means where it stands, innermost scope first."""
    head, _, rest = target.partition(".")
    scopes = source.split(".") if source else []
    if head in ("self", "this", "cls") and rest and "." not in rest:
        for size in range(len(scopes) - 1, 0, -1):
            if (name := ".".join([*scopes[:size], rest])) in own:
                return name
        return None
    for size in range(len(scopes), -1, -1):
        if (name := ".".join([*scopes[:size], target])) in own:
            return name
    return None


def _imported(
    module: str,
    target: str,
    language: str,
    found: Callable[[str], str | None],
    names_in: Callable[[str], Collection[str]],
) -> str | None:
    parts = target.split(".")
    for size in range(len(parts)):
        # `import pkg.mod` then `pkg.mod.f()`: the longest module that exists wins
        name = ".".join(parts[len(parts) - 1 - size :])
        extra = parts[: len(parts) - 1 - size]
        candidates = [module]
        if language == "python" and extra:
            joined = ".".join(extra)
            candidates.insert(0, module + joined if module.endswith(".") else f"{module}.{joined}")
        for candidate in candidates:
            path = found(candidate)
            if path is not None and name in names_in(path):
                return symbol_ref(path, name)
    return None
