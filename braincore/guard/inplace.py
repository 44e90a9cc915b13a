"""`sed` and `perl -pi`: commands that rewrite files in place."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from braincore.guard.regex import (
    Expression,
    Template,
    Untranslatable,
    compile_perl,
    expand,
    matches,
    template,
)
from braincore.guard.sed import MOST_LINES, parse_script, run_script
from braincore.guard.session import Outcome, Session, Stdin, Value

__all__ = ["perl", "sed"]

_PAIRED = {"{": "}", "(": ")", "[": "]", "<": ">"}


@dataclass(slots=True)
class _Call:
    """A command line, parsed. `suffix` is `-i`'s: None without `-i`, empty for no backup."""

    scripts: list[str] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    extended: bool = False
    quiet: bool = False
    whole: bool = False
    prints: bool = False
    suffix: str | None = None
    script_file: int | None = None


def sed(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    """Run `sed`: rewrite its files with `-i`, else print."""
    words = [value.text for value in argv]
    in_place = any(re.match(r"-[Ernsuz]*i|--in-place", word) for word in words[1:])
    try:
        call = _sed_call(words)
        if call.script_file is not None:
            content = session.content(argv[call.script_file])
            if not isinstance(content, str):
                raise Untranslatable("sed's script file")
            call.scripts.append(content.removesuffix("\n"))
        script = "\n".join(call.scripts)
        if not all(value.exact for value in argv if value.text and value.text in call.scripts):
            raise Untranslatable("a sed script with an expansion in it")
        steps = parse_script(script.removeprefix("#n\n"), extended=call.extended)
        quiet = call.quiet or script.startswith("#n\n")

        def change(text: str) -> str:
            return run_script(steps, text, quiet=quiet)

        return _rewrite(session, call, argv, stdin, change)
    except Untranslatable as problem:
        return _not_followed(session, in_place, "sed", problem)


def _not_followed(session: Session, in_place: bool, name: str, problem: Untranslatable) -> Outcome:
    if in_place:
        session.overlay.note(f"`{name} -i` was not followed: {problem.what}")
    return Outcome(None, None)


def _rewrite(
    session: Session,
    call: _Call,
    argv: Sequence[Value],
    stdin: Stdin,
    change: Callable[[str], str],
) -> Outcome:
    """Put the operands through `change`, in place or to standard output."""
    operands = [argv[index] for index in call.files]
    if call.suffix is None:
        source = session.joined(operands, stdin)
        return source if source.out is None else Outcome(source.ok, change(source.out))
    ok = True
    for operand in operands:
        path = session.path(operand)
        before = None if path is None else session.overlay.read(path)
        if path is None or not isinstance(before, str):
            ok = False
            continue
        after = change(before)
        if call.suffix:
            name = operand.text.rpartition("/")[2]
            backup = call.suffix.replace("*", name) if "*" in call.suffix else name + call.suffix
            session.overlay.write(path.rpartition("/")[0] + "/" + backup, before)
        session.overlay.write(path, after)
    return Outcome(True if ok else None, "")


def _sed_call(words: Sequence[str]) -> _Call:
    call = _Call()
    rest: list[int] = []
    at = 1
    only_files = False
    scripted = False
    while at < len(words):
        word = words[at]
        if only_files or not word.startswith("-") or word == "-":
            rest.append(at)
        elif word == "--":
            only_files = True
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            if name in ("--expression", "--file") and not equals:
                at += 1
                value = words[at] if at < len(words) else ""
            if name == "--expression":
                call.scripts.append(value)
                scripted = True
            elif name == "--in-place":
                call.suffix = value
            elif name == "--regexp-extended":
                call.extended = True
            elif name in ("--quiet", "--silent"):
                call.quiet = True
            elif name not in ("--separate", "--unbuffered", "--follow-symlinks", "--posix"):
                raise Untranslatable(f"sed's option {name}")
        else:
            scripted = _sed_letters(call, words, at) or scripted
            at += word[-1] in "ef" and not _has_value(word)
        at += 1
    if not scripted:
        if call.suffix == "" and rest and words[rest[0]] == "":
            rest.pop(0)  # BSD's `-i ''`
        if not rest:
            raise Untranslatable("sed without a script")
        call.scripts.append(words[rest.pop(0)])
    call.files = rest
    return call


def _has_value(word: str) -> bool:
    """Is the last letter of `-nie…` part of a value, and not an option of its own?"""
    found = re.search(r"[ief]", word[1:])
    return found is not None and found.start() + 2 < len(word)


def _sed_letters(call: _Call, words: Sequence[str], at: int) -> bool:
    """Take a word of one-letter options; True if it gives a script."""
    word = words[at]
    for index, letter in enumerate(word[1:], 2):
        following = words[at + 1] if at + 1 < len(words) else ""
        if letter == "i":
            call.suffix = word[index:]
            return False
        if letter in "Er":
            call.extended = True
        elif letter == "n":
            call.quiet = True
        elif letter == "e":
            call.scripts.append(word[index:] or following)
            return True
        elif letter == "f" and not word[index:] and at + 1 < len(words):
            call.script_file = at + 1
            return True
        elif letter not in "su":
            raise Untranslatable(f"sed's option -{letter}")
    return False


def perl(session: Session, argv: Sequence[Value], stdin: Stdin) -> Outcome:
    """Run `perl -p` with substitutions only; every other perl is a script nobody reads here."""
    words = [value.text for value in argv]
    in_place = any(re.match(r"-[a-hj-zA-Z0-9]*i", word) for word in words[1:])
    try:
        call = _perl_call(words)
        if not all(value.exact for value in argv if value.text and value.text in call.scripts):
            raise Untranslatable("a perl script with an expansion in it")
        rules = [rule for script in call.scripts for rule in _perl_rules(script, call.whole)]

        def change(text: str) -> str:
            return _substituted(rules, text, call.whole)

        return _rewrite(session, call, argv, stdin, change)
    except Untranslatable as problem:
        return _not_followed(session, in_place, "perl", problem)


def _perl_call(words: Sequence[str]) -> _Call:
    call = _Call()
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        at += 1
        if word == "--":
            break
        index = 1
        while index < len(word):
            letter = word[index]
            index += 1
            if letter == "p":
                call.prints = True
            elif letter == "e":
                if word[index:] or at >= len(words):
                    raise Untranslatable("perl's -e without a script of its own")
                call.scripts.append(words[at])
                at += 1
            elif letter == "i":
                call.suffix = word[index:]
                index = len(word)
            elif letter == "0":
                octal = re.match(r"[0-7]*", word[index:])
                digits = octal[0] if octal else ""
                if digits not in ("777", "0", ""):
                    raise Untranslatable(f"perl's option -0{digits}")
                # Text files have no NUL, so a record that ends at one is the whole file.
                call.whole = True
                index += len(digits)
            elif letter not in "wW":
                raise Untranslatable(f"perl's option -{letter}")
    call.files = list(range(at, len(words)))
    if not call.scripts or not call.prints:
        raise Untranslatable("a perl script that is more than substitutions")
    return call


_Rule = tuple[Expression, Template, bool]


def _perl_rules(script: str, whole: bool) -> list[_Rule]:
    """The substitutions of a perl script that is nothing else."""
    rules: list[_Rule] = []
    at = 0
    while True:
        while at < len(script) and script[at] in " \t\n;":
            at += 1
        if at >= len(script):
            return rules
        delimiter = script[at + 1 : at + 2]
        if script[at] != "s" or not delimiter or delimiter.isalnum() or delimiter in "_'\" \t\n,=":
            raise Untranslatable("a perl script that is more than substitutions")
        source, at = _perl_part(script, at + 2, delimiter)
        if delimiter in _PAIRED:
            while script[at : at + 1].isspace():
                at += 1
            delimiter = script[at : at + 1]
            at += 1
        replacement, at = _perl_part(script, at, delimiter)
        flags = re.compile(r"[a-z]*").match(script, at)
        letters = flags[0] if flags else ""
        at += len(letters)
        if set(letters) - set("gims") or script[at : at + 1] not in ("", " ", "\t", "\n", ";"):
            raise Untranslatable(f"the perl substitution's flags {letters}")
        expression = compile_perl(source, letters, whole=whole)
        parts = template(replacement, perl=True)
        if any(isinstance(part, int) and part > expression.groups for part in parts):
            raise Untranslatable("a group that the expression doesn't have")
        rules.append((expression, parts, "g" in letters))


def _perl_part(script: str, at: int, opening: str) -> tuple[str, int]:
    """One delimited part, and where the text after its closing delimiter begins."""
    if not opening:
        raise Untranslatable("a perl substitution without its replacement")
    closing = _PAIRED.get(opening, opening)
    depth = 0
    parts: list[str] = []
    while at < len(script):
        char = script[at]
        if char == "\\" and at + 1 < len(script):
            escaped = script[at + 1]
            plain = escaped == closing and opening == closing and escaped not in "|.+*?^$()"
            parts.append(escaped if plain else char + escaped)
            at += 2
            continue
        at += 1
        if char == closing and depth == 0:
            return "".join(parts), at
        depth += (char == opening) - (char == closing)
        parts.append(char)
    raise Untranslatable("a perl substitution without its end")


def _substituted(rules: Sequence[_Rule], text: str, whole: bool) -> str:
    pieces = [text] if whole else re.findall(r"[^\n]*\n|[^\n]+", text)
    if len(pieces) > MOST_LINES:
        raise Untranslatable("a file of that many lines")
    try:
        return "".join(_one(rules, piece) for piece in pieces)
    except UnicodeEncodeError as problem:
        raise Untranslatable("a text that isn't Unicode") from problem


def _one(rules: Sequence[_Rule], piece: str) -> str:
    for expression, parts, every in rules:
        done: list[str] = []
        end = 0
        for found in matches(expression, piece):
            done.append(piece[end : found.start()] + expand(parts, found))
            end = found.end()
            if not every:
                break
        piece = "".join(done) + piece[end:]
    return piece
