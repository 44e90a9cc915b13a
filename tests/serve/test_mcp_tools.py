"""What every client is told of our tools: few, flat, small, and true."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from braincore.gate.advice import next_step
from braincore.model.axes import Reason
from braincore.serve.mcp.greeting import recorded
from braincore.serve.mcp.tools import TOOLS, Tool, listed
from braincore.serve.mcp_stdio import GREETING
from braincore.serve.verbs import VERBS

FORBIDDEN = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "definitions"}
JSON_TYPES = {"string": str, "integer": int, "boolean": bool, "array": list}


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_the_tools_are_those_of_the_spec() -> None:
    assert [t.name for t in TOOLS] == [
        *("remember", "recall", "why", "decide", "record_failure", "check_edit", "related"),
        *("context", "tasks", "review", "status"),
    ]


def test_the_list_stays_under_2000_tokens() -> None:
    text = json.dumps([listed(t) for t in TOOLS], separators=(",", ":"))
    # Words, numbers of up to three digits, and runs of punctuation: what byte-pair vocabularies
    # of today's models hold as one or two tokens; characters / 3.5 is the dearest of them.
    assert len(re.findall(r" ?[A-Za-z]+|\d{1,3}| ?[^\sA-Za-z\d]+", text)) <= 2000
    assert len(text) / 3.5 <= 2000


@pytest.mark.parametrize("tool", TOOLS, ids=lambda t: t.name)
def test_schemas_are_flat(tool: Tool) -> None:
    shown = listed(tool)
    assert not FORBIDDEN & set(keys(shown))
    assert shown["inputSchema"]["type"] == shown["outputSchema"]["type"] == "object"
    assert set(tool.required) <= set(tool.properties)
    for schema in tool.properties.values():
        assert schema["type"] in JSON_TYPES
        assert "items" not in schema or schema["items"] == {"type": "string"}
    assert shown["annotations"]["openWorldHint"] is False
    assert "destructiveHint" in shown["annotations"] or shown["annotations"]["readOnlyHint"]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda t: t.name)
def test_arguments_are_those_of_the_verb(tool: Tool) -> None:
    fields = VERBS[tool.verb].request.model_fields
    assert set(tool.properties) <= set(fields)
    needed = {name for name, field in fields.items() if field.is_required()}
    assert needed == set(tool.required)


def test_the_greeting_is_what_the_sdk_says() -> None:
    # `python -m braincore.serve.mcp.greeting` writes it anew.
    assert json.loads(GREETING.read_bytes()) == recorded()


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_says_what_to_do_next(reason: Reason) -> None:
    assert next_step(reason).endswith(".")
