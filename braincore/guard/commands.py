"""The commands whose effect on files is known: what each writes, deletes and prints.

A command that isn't here does nothing that can be known beforehand. Each takes the session, its
words (its name first) and its standard input.
"""

import posixpath
import re
from collections.abc import Callable, Sequence

from braincore.guard.inplace import perl, sed
from braincore.guard.overlay import UNSEEN
from braincore.guard.patching import apply_patch, git_apply, patch
from braincore.guard.session import DONE, FAILED, UNSURE, Outcome, Session, Stdin, Value

__all__ = ["COMMANDS", "Command"]

Command = Callable[[Session, Sequence[Value], Stdin], Outcome]

_ESCAPE = re.compile(r"\\(0[0-7]{0,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPES |= {"\\": "\\", "e": "\x1b", '"': '"'}
_FORMAT = re.compile(r"%(?:%|([-0 +#]*)(\d{0,4})((?:\.\d{1,4})?)([sdicbu]))|%")


def _unescaped(text: str, octal_zero: bool) -> str:
    """Escapes as `printf` reads them or, with `octal_zero`, as `echo -e` does (`\\0101`)."""

    def char(found: re.Match[str]) -> str:
        code = found[1]
        if code[0] in "xu" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code[0] == "0" or (code[0] in "1234567" and not octal_zero):
            return chr(int(code, 8) & 255)
        return _ESCAPES.get(code, "\\" + code)

    return _ESCAPE.sub(char, text)


def _split(argv: Sequence[Value], valued: str = "") -> tuple[set[str], list[Value]]:
    """Options (their letters, and long names) and operands; `valued` letters take a value."""
    options: set[str] = set()
    operands: list[Value] = []
    words = iter(argv[1:])
    for value in words:
        text = value.text
        if text == "--":
            operands += words
        elif text.startswith("--"):
            options.add(text.partition("=")[0])
        elif text.startswith("-") and len(text) > 1:
            options.update(text[1:])
            if text[-1] in valued:
                next(words, None)
        else:
            operands.append(value)
    return options, operands


def _cat(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    options, operands = _split(argv)
    outcome = session.joined(operands, stdin)
    return Outcome(outcome.ok, None) if options - {"u"} else outcome


def _echo(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    words = [value.text for value in argv[1:]]
    newline, escapes = "\n", False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        for letter in words.pop(0)[1:]:
            newline = "" if letter == "n" else newline
            escapes = escapes if letter == "n" else letter == "e"
    text = " ".join(words)
    if escapes:
        text, cut, _ = text.partition("\\c")
        text, newline = _unescaped(text, True), "" if cut else newline
    return Outcome(True, text + newline)


def _printf(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    words = [value.text for value in argv[1:]]
    if words[:1] == ["--"]:
        words.pop(0)
    if not words:
        return FAILED
    if words[0] == "-v":
        return UNSURE
    form, arguments = words[0], words[1:]
    takes = sum(1 for found in _FORMAT.finditer(form) if found[4])
    if any(found[0] == "%" for found in _FORMAT.finditer(form)):
        return Outcome(None, None)
    out: list[str] = []
    while True:
        given = iter(arguments[:takes])
        end = 0
        for found in _FORMAT.finditer(form):
            out.append(_unescaped(form[end : found.start()], False))
            end = found.end()
            piece = _formatted(found, next(given, "")) if found[4] else "%"
            if piece is None:
                return Outcome(None, None)
            out.append(piece)
        out.append(_unescaped(form[end:], False))
        arguments = arguments[takes:]
        if not takes or not arguments:
            return Outcome(True, "".join(out))


def _formatted(found: re.Match[str], argument: str) -> str | None:
    """One argument as its conversion prints it; None for a number that is none."""
    flags, width, precision, kind = found[1], found[2], found[3], found[4]
    if kind in "diu":
        if not re.fullmatch(r"[+-]?\d{1,18}|", argument):
            return None
        return f"%{flags}{width}{precision}d" % int(argument or "0")
    text = _unescaped(argument, True) if kind == "b" else argument
    text = text[:1] if kind == "c" else text
    return f"%{'-' if '-' in flags else ''}{width}{precision}s" % text


def _tee(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    options, operands = _split(argv)
    text = stdin.take()
    for operand in operands:
        path = session.path(operand)
        if path is None:
            continue
        if text is None and not path.startswith("/dev/"):
            session.overlay.note(f"{operand.text}: what `tee` writes to it is not known beforehand")
        content = UNSEEN if text is None else text
        if "a" in options or "--append" in options:
            session.overlay.append(path, content)
        else:
            session.overlay.write(path, content)
    return Outcome(True, text)


def _place(session: Session, source: Value, target: Value, into: bool) -> str | None:
    """Where a copy of `source` lands: `target`, or a file in it if it is a folder.

    Without a disk to look at, a folder is known by a slash at its end, by its being `.` or the
    like, or by its having no suffix and not being a file while the source has a suffix.
    """
    path = session.path(target)
    if path is None:
        return None
    name = posixpath.basename(posixpath.normpath(source.text))
    last = target.text.rpartition("/")[2]
    suffixes = posixpath.splitext(name)[1], posixpath.splitext(last)[1]
    place = posixpath.join(path, name)
    if into or last in ("", ".", "..") or path == session.overlay.root:
        return place
    if suffixes[0] and not suffixes[1] and not session.overlay.exists(path):
        session.overlay.guess_folder(path, place)
        return place
    return path


def _copy(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    """`cp`, `mv` and `install`."""
    moves = argv[0].text == "mv"
    options, operands = _split(argv, "tSm" if not moves else "tS")
    if options & {"t", "--target-directory", "T", "b"}:
        session.overlay.note(f"`{argv[0].text}` with such options was not followed")
        return UNSURE
    if len(operands) < 2:
        return FAILED
    *sources, target = operands
    ok = True
    for source in sources:
        path = session.path(source)
        place = None if path is None else _place(session, source, target, len(sources) > 1)
        if path is None or place is None:
            ok = False
            continue
        content = session.overlay.read(path)
        exists = session.overlay.exists(place)
        if content is None:
            if moves or options & {"r", "R", "a", "--recursive", "--archive"}:
                name = argv[0].text
                session.overlay.note(f"{source.text}: a folder's files are unknown to `{name}`")
                if moves:
                    session.overlay.touch(path)
            ok = False
        elif not (exists and options & {"n", "--no-clobber"}) and place != path:
            session.overlay.write(place, content)
            if moves:
                session.overlay.write(path, None)
    return Outcome(ok if ok else None, "")


def _remove(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    options, operands = _split(argv)
    for operand in operands:
        path = session.path(operand)
        if path is None:
            continue
        if session.overlay.read(path) is not None:
            session.overlay.write(path, None)
        elif options & {"r", "R", "--recursive"}:
            session.overlay.note(f"{operand.text}: which files of a folder are deleted is unknown")
            session.overlay.touch(path)
    return UNSURE


def _touch(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    options, operands = _split(argv, "drt")
    for operand in operands:
        path = session.path(operand)
        if path is not None and session.overlay.read(path) is None and "c" not in options:
            session.overlay.write(path, "")
    return DONE


def _ends(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    """`head` and `tail` by lines."""
    words = [value.text for value in argv[1:]]
    count = "10"
    if words and (short := re.fullmatch(r"(?:-n|--lines=|-)([-+]?\d{1,9})", words[0])):
        count, used = short[1], 1
    elif words[:1] in (["-n"], ["--lines"]) and len(words) > 1:
        count, used = words[1], 2
    else:
        used = 0
    operands = list(argv[1 + used :])
    if not re.fullmatch(r"[-+]?\d{1,9}", count) or len(operands) > 1:
        return Outcome(None, None)
    if any(operand.text.startswith("-") and operand.text != "-" for operand in operands):
        return Outcome(None, None)
    source = session.joined(operands, stdin)
    if source.out is None:
        return source
    lines = re.findall(r"[^\n]*\n|[^\n]+", source.out)
    number = abs(int(count))
    if argv[0].text == "head":
        kept = lines[: max(len(lines) - number, 0)] if count[0] == "-" else lines[:number]
    else:
        kept = lines[max(number - 1, 0) :] if count[0] == "+" else lines[len(lines) - number :]
        kept = lines if number >= len(lines) and count[0] != "+" else kept
    return Outcome(source.ok, "".join(kept))


def _git(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    """`git apply`, `git am`, `git mv` and `git rm`; the rest of git is not followed."""
    at = 1
    cwd = session.cwd
    while at < len(argv) and argv[at].text.startswith("-"):
        if argv[at].text == "-C" and at + 1 < len(argv):
            cwd = Session(session.overlay, cwd).path(argv[at + 1])
            at += 1
        elif argv[at].text == "-c":
            at += 1
        at += 1
    here = Session(session.overlay, cwd)
    rest = argv[at:]
    name = rest[0].text if rest else ""
    if name == "mv":
        return _copy(here, rest, stdin)
    if name == "rm":
        cached = any(value.text == "--cached" for value in rest)
        return UNSURE if cached else _remove(here, rest, stdin)
    return git_apply(here, rest, stdin) if name in ("apply", "am") else Outcome(None, None)


def _elsewhere(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    """Commands that write the file an option names, with content nobody knows."""
    words = [value.text for value in argv]
    flags = {"curl": ("-o", "--output"), "wget": ("-O",), "sort": ("-o", "--output")}
    for at, word in enumerate(words[1:], 1):
        value: Value | None = None
        if word in flags.get(words[0], ()) and at + 1 < len(argv):
            value = argv[at + 1]
        elif words[0] == "dd" and word.startswith("of="):
            value = Value(word[3:], argv[at].exact)
        elif words[0] in ("truncate", "ed", "ex") and at == len(words) - 1:
            value = argv[at]
        elif words[0] in ("awk", "gawk", "ruby") and re.match(r"-i(nplace)?$", word):
            session.overlay.note(f"`{words[0]} -i` was not followed")
        path = None if value is None else session.path(value)
        if value is not None and path is not None and not path.startswith("/dev/"):
            session.overlay.note(f"{value.text}: what `{words[0]}` writes to it is unknown")
            session.overlay.touch(path)
            if words[0] in ("curl", "wget", "dd"):
                session.overlay.write(path, UNSEEN)
    return Outcome(None, None)


def _true(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    return DONE


def _false(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    return FAILED


def _test(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    return UNSURE


def _pwd(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    return Outcome(True, None if session.cwd is None else session.cwd + "\n")


COMMANDS: dict[str, Command] = {
    "cat": _cat,
    "echo": _echo,
    "printf": _printf,
    "tee": _tee,
    "cp": _copy,
    "mv": _copy,
    "install": _copy,
    "rm": _remove,
    "unlink": _remove,
    "touch": _touch,
    "head": _ends,
    "tail": _ends,
    "sed": sed,
    "gsed": sed,
    "perl": perl,
    "apply_patch": apply_patch,
    "applypatch": apply_patch,
    "patch": patch,
    "git": _git,
    "pwd": _pwd,
    ":": _true,
    "true": _true,
    "false": _false,
    "test": _test,
    "[": _test,
    "[[": _test,
    "mkdir": _true,
    "chmod": _test,
    "set": _true,
    "curl": _elsewhere,
    "wget": _elsewhere,
    "sort": _elsewhere,
    "dd": _elsewhere,
    "truncate": _elsewhere,
    "ed": _elsewhere,
    "ex": _elsewhere,
    "awk": _elsewhere,
    "gawk": _elsewhere,
    "ruby": _elsewhere,
}
