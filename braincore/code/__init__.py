"""Source code as symbols, references and tokens (SPEC §5). Pure: bytes in, values out."""

from braincore.code.fingerprint import fingerprint, module_name, node_id
from braincore.code.grammars import LANGUAGES, language_of, parser_for
from braincore.code.symbols import extract
from braincore.code.text import decode
from braincore.code.tokens import DEDENT, INDENT, NEWLINE, Token, find_fragment, tokens

__all__ = [
    "DEDENT",
    "INDENT",
    "LANGUAGES",
    "NEWLINE",
    "Token",
    "decode",
    "extract",
    "find_fragment",
    "fingerprint",
    "language_of",
    "module_name",
    "node_id",
    "parser_for",
    "tokens",
]
