"""What a definition shows its callers: as text, and as a hash of what would break them."""

from collections.abc import Iterator, Sequence
from hashlib import sha256

from tree_sitter import Node

from braincore.code.definitions import Definition
from braincore.code.fingerprint import digest
from braincore.code.lexer import BRACKETS, Lexed

__all__ = ["body_hash", "signature_hash", "signature_text", "text_hash"]

_CALLABLE = frozenset(("function", "method", "getter", "setter"))
_MODIFIERS = frozenset(b"async static abstract private protected get set const declare *".split())
_SPACED_KEYWORDS = frozenset(
    b"return extends implements of in as is keyof typeof infer new and or not if else lambda "
    b"await function async".split()
)
_TIGHT_AFTER = frozenset((b"(", b"[", b".", b"?.", b"...", b"@", b"~", b"!", b"<"))
_TIGHT_BEFORE = frozenset((b",", b";", b")", b"]", b".", b"?.", b"?", b":", b"!"))
# After these a sign belongs to what follows it.
_PREFIXED = frozenset((b"", b"(", b",", b"[", b"=", b"static", b"async"))


def signature_text(one: Definition, lexed: Lexed, language: str) -> str:
    """The head of a definition, without decorators, comments, body and the writer's line breaks."""
    start, end = _head(one)
    words = lexed.words(start, end)
    while words and words[-1] in (b":", b"=", b"{", b";"):
        words.pop()
    return _render(words, language == "python")


def text_hash(signature: str) -> str:
    """SHA-256, in hex, of a signature's text."""
    return digest(signature)


def body_hash(one: Definition, lexed: Lexed) -> str:
    """SHA-256, in hex, of the tokens of the body: the name and layout don't count.

    The body of a constant or a type is its value; without any (an overload) it is empty.
    """
    body = _body(one)
    texts = lexed.between(body.start_byte, body.end_byte) if body else []
    return sha256(b"\0".join(texts)).hexdigest()


def signature_hash(one: Definition, lexed: Lexed, language: str) -> str:
    """SHA-256, in hex, of what breaks callers when it changes.

    Functions: async, static or class receiver, generator mark and access, type parameters, return
    type, and of each parameter its place, type, whether it may be left out, whether it collects
    the rest, and in Python its name where callers can say it. Names of positional parameters,
    default values and the definition's own name don't count. Classes and interfaces: modifiers,
    type parameters and bases. Constants: the type they are given.
    """
    value = one.value
    head = lexed.words(*_head(one))
    parts: list[bytes] = [b"\1".join(_modifiers(one, head, lexed))]
    if one.kind in _CALLABLE:
        for name in ("type_parameters", "return_type"):
            parts.append(_joined(value.child_by_field_name(name), lexed))
        if one.node is not value:
            parts.append(_joined(one.node.child_by_field_name("type"), lexed))
        python = language == "python"
        parts += _python_parameters(one, lexed) if python else _ecma_parameters(value, lexed)
    elif one.kind in ("class", "interface"):
        parts.append(_joined(value.child_by_field_name("type_parameters"), lexed))
        parts.append(_joined(value.child_by_field_name("superclasses"), lexed))
        for child in value.children:
            if child.type in ("class_heritage", "extends_type_clause"):
                parts.append(_joined(child, lexed))
    else:
        parts.append(_joined(one.node.child_by_field_name("type_parameters"), lexed))
        if one.kind == "constant":
            parts.append(_joined(one.node.child_by_field_name("type"), lexed))
    return sha256(b"\0".join(parts)).hexdigest()


def _body(one: Definition) -> Node | None:
    if one.kind == "constant":
        node = one.node
        return node.child_by_field_name("right") or node.child_by_field_name("value")
    value = one.value
    for name in ("body", "value", "right"):
        body = value.child_by_field_name(name)
        if body:
            return body
    return None


def _head(one: Definition) -> tuple[int, int]:
    """The bytes of the head: after the decorators, before the body."""
    start = one.node.start_byte
    for child in one.node.children:
        if child.type != "decorator":
            break
        start = child.end_byte
    body = _body(one)
    return start, body.start_byte if body else one.node.end_byte


def _joined(node: Node | None, lexed: Lexed) -> bytes:
    if node is None:
        return b""
    words = lexed.words(node.start_byte, node.end_byte)
    return b"\1".join(_without_trailing_commas(words))


def _without_trailing_commas(words: Sequence[bytes]) -> Iterator[bytes]:
    for word, following in zip(words, [*words[1:], b""], strict=True):
        if word != b"," or following not in (b")", b"]", b"}", b">"):
            yield word


def _modifiers(one: Definition, head: Sequence[bytes], lexed: Lexed) -> list[bytes]:
    """Words before the name or the parameters that say how the definition may be used."""
    before = list(head)
    value = one.value
    if one.kind in _CALLABLE:
        parameters = value.child_by_field_name("parameters") or value.child_by_field_name(
            "parameter"
        )
        if parameters:
            before = lexed.words(_head(one)[0], parameters.start_byte)
            name = one.name.encode("utf-8", "surrogatepass")
            if name in before:
                before.remove(name)
    found = sorted({word for word in before if word in _MODIFIERS})
    return found + sorted(
        name for name in one.decorators if name in (b"staticmethod", b"classmethod")
    )


def _python_parameters(one: Definition, lexed: Lexed) -> list[bytes]:
    node = one.value.child_by_field_name("parameters")
    given = [child for child in node.named_children if child.type != "comment"] if node else []
    in_class = one.outer is not None and one.outer.kind == "class"
    if in_class and b"staticmethod" not in one.decorators and given:
        # The receiver is bound, not passed; only its presence shows.
        if given[0].type == "identifier":
            given = given[1:]
        found = [b"receiver"]
    else:
        found = []
    slash = next((i for i, child in enumerate(given) if child.type == "positional_separator"), -1)
    for index, child in enumerate(given):
        words = lexed.words(child.start_byte, child.end_byte)
        default = b"=" if child.child_by_field_name("value") else b""
        annotation = _joined(child.child_by_field_name("type"), lexed)
        star = words[0] if words and words[0] in (b"*", b"**", b"/") else b""
        name = b"" if star or index < slash else words[0] if words else b""
        found.append(b"\2".join((star, name, default, annotation)))
    return found


def _ecma_parameters(value: Node, lexed: Lexed) -> list[bytes]:
    single = value.child_by_field_name("parameter")
    node = value.child_by_field_name("parameters")
    given = [single] if single else node.named_children if node else []
    found: list[bytes] = []
    for child in given:
        if child.type in ("comment", "decorator"):
            continue
        annotation = _joined(child.child_by_field_name("type"), lexed)
        words = lexed.words(child.start_byte, child.end_byte)
        optional = (
            child.type in ("optional_parameter", "assignment_pattern")
            or child.child_by_field_name("value") is not None
        )
        pattern = child.child_by_field_name("pattern") or child.child_by_field_name("left") or child
        # The members of an object pattern are names that callers write.
        names = _joined(pattern, lexed) if pattern.type == "object_pattern" else b""
        receiver = b"this" if words[:1] == [b"this"] else b""
        rest = b"..." if b"..." in words[:2] and not names else b""
        found.append(b"\2".join((rest, receiver, b"?" if optional else b"", annotation, names)))
    return found


def _render(words: Sequence[bytes], python: bool) -> str:
    """`words` on one line, spaced in one way whatever the writer's layout."""
    text = ""
    before, last = b"", b""
    typed = False
    depth = 0
    for word in _without_trailing_commas(words):
        depth += BRACKETS.get(word, 0)
        if word == b":" and depth == 1:
            typed = True
        elif word == b"," and depth == 1:
            typed = False
        tight = (
            not last
            or _tight(before, last, word)
            or (python and depth >= 1 and not typed and b"=" in (word, last))
        )
        text += ("" if tight else " ") + word.decode("utf-8", "surrogatepass")
        before, last = last, word
    return text


def _tight(before: bytes, last: bytes, word: bytes) -> bool:
    """Whether `word` follows `last` without a space; `before` stands in front of both."""
    if word in _TIGHT_BEFORE or last in _TIGHT_AFTER:
        return True
    if word in (b"<", b">"):
        return True
    if last in (b"*", b"**", b"-", b"+") and before in _PREFIXED:
        return True
    if (last, word) in ((b"function", b"*"), (b"{", b"}")):
        return True
    if word in (b"(", b"["):
        named = last[-1:].isalnum() or last[-1:] in (b"_", b"$", b">", b")", b"]", b"?", b"'", b'"')
        return named and last not in _SPACED_KEYWORDS
    return False
