"""The REST interface described for machines: OpenAPI 3.1, made from the requests and the shapes."""

from functools import cache
from typing import Any, Literal

from pydantic import TypeAdapter

from braincore import __version__, shapes
from braincore.serve.requests import NoRequest, ServeRequest
from braincore.serve.verbs import VERBS

__all__ = ["document"]

REFS = "#/components/schemas/{model}"
STATUSES = {
    "400": "The request can't be carried out; the text names the field or says what to do.",
    "401": "TCP only: the token is missing or wrong.",
    "403": "Host or Origin is not this owner's.",
    "404": "There is no such verb or address.",
    "405": "Another method is needed; `Allow` says which.",
    "413": "The request is larger than 33 MB.",
    "415": "The body is not `application/json`.",
    "421": "This owner serves another repository than `X-Braincore-Store` names.",
    "426": "This owner is older than the client and makes room for a newer one.",
    "500": "The owner failed; its log has the details.",
    "503": "This owner is leaving: ask again, the next one answers.",
}
EXIT = "X-Braincore-Exit"
_PROCESS: dict[str, tuple[Any, Any, str]] = {
    "ping": (NoRequest, shapes.Pong, "Whether the owner is there."),
    "stop": (NoRequest, shapes.Stopping, "Make the owner leave."),
    "serve": (ServeRequest, shapes.Serving, "Make the owner listen on loopback TCP too."),
}

Mode = Literal["validation", "serialization"]


@cache
def document() -> dict[str, Any]:
    """The whole OpenAPI document; made once, not to be changed."""
    about = {
        name: (verb.request, verb.answer, verb.run.__doc__ or "") for name, verb in VERBS.items()
    } | _PROCESS
    inputs: list[tuple[str, Mode, TypeAdapter[Any]]] = [
        ("error", "serialization", TypeAdapter(shapes.Failed))
    ]
    for name, (request, answer, _) in about.items():
        inputs.append((name, "validation", TypeAdapter(request)))
        inputs.append((name, "serialization", TypeAdapter(answer)))
    schemas, definitions = TypeAdapter.json_schemas(inputs, ref_template=REFS)
    errors = {
        code: {
            "description": text,
            "headers": {EXIT: {"$ref": f"#/components/headers/{EXIT}"}},
            "content": {"application/json": {"schema": schemas["error", "serialization"]}},
        }
        for code, text in STATUSES.items()
    }
    paths = {
        f"/v1/{name}": {
            "post": _operation(
                name,
                text,
                schemas[name, "validation"],
                schemas[name, "serialization"],
                required=bool(TypeAdapter(request).json_schema().get("required")),
            )
        }
        for name, (request, _, text) in about.items()
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "braincore",
            "version": __version__,
            "description": shapes.__doc__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "responses": errors,
            "headers": {
                EXIT: {
                    "description": "The exit code of the command line: 0 done, 1 error, 2 "
                    "conflict, or an edit that must not be written.",
                    "schema": {"type": "integer", "enum": [0, 1, 2]},
                }
            },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "On TCP: the content of `http.token` in the store. The Unix "
                    "socket needs none.",
                }
            },
        },
    }


def _operation(name: str, text: str, request: Any, answer: Any, *, required: bool) -> Any:
    return {
        "operationId": name,
        "summary": text.splitlines()[0] if text else name,
        "requestBody": {
            "required": required,
            "content": {"application/json": {"schema": request}},
        },
        "responses": {
            "200": {
                "description": "Done; an abstain, a conflict and a refused edit too are answers.",
                "headers": {EXIT: {"$ref": f"#/components/headers/{EXIT}"}},
                "content": {"application/json": {"schema": answer}},
            },
            **{code: {"$ref": f"#/components/responses/{code}"} for code in STATUSES},
        },
    }
