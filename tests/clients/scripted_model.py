"""A model endpoint that plays a script, for Gemini CLI, Codex and Claude Code: stdlib only.

How many tool results the request already holds says where the script is: recall over MCP, an edit
that a rule denies, an edit that nothing denies, a last word. Every result that comes back from the
client is kept, since that is what the model gets to see.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["ASKED", "Model"]

ASKED = {"query": "which port does staging use?", "target": "staging_port"}
LAST_WORD = "Done."


class Model:
    """The endpoint, listening on a free port of loopback. `seen`: the newest result, by step;
    `told`: all that the newest request of the session says."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.seen: dict[int, str] = {}
        self.told = ""
        self.tools: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def note(self, asked: dict[str, Any], results: list[Any], tools: list[str]) -> int:
        """Keep what was said and the newest result; the step the script is at."""
        self.told, self.tools = json.dumps(asked), tools
        if results:
            self.seen[len(results)] = json.dumps(results[-1])
        return len(results)

    def gemini(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A `generateContent` answer."""
        parts = [p for c in asked.get("contents", []) for p in c.get("parts", [])]
        results = [p["functionResponse"] for p in parts if "functionResponse" in p]
        declared = [f for t in asked.get("tools", []) for f in t.get("functionDeclarations", [])]
        names = [f["name"] for f in declared]
        part: dict[str, Any] = {"text": LAST_WORD}
        if names:
            step = self.note(asked, results, names)
            recall = next((n for n in names if n.endswith("recall")), "no recall tool")
            script = {0: (recall, ASKED)}
            for at, file in ((1, "protected.py"), (2, "ok.py")):
                edit = {"file_path": f"{self.root}/{file}", "instruction": "make x two"}
                script[at] = ("replace", edit | {"old_string": "x = 1", "new_string": "x = 2"})
            if step in script:
                name, arguments = script[step]
                part = {"functionCall": {"name": name, "args": arguments}}
        elif (asked.get("generationConfig") or {}).get("responseMimeType") == "application/json":
            part = {"text": json.dumps({"reasoning": "-", "next_speaker": "user"})}
        content = {"role": "model", "parts": [part]}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"index": 0, "content": content, "finishReason": "STOP"}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}

    def messages(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        """The events of a `messages` stream. Claude Code edits only what it has read."""
        contents = [m.get("content") for m in asked.get("messages", [])]
        blocks = [b for c in contents if isinstance(c, list) for b in c]
        results = [b for b in blocks if b.get("type") == "tool_result"]
        results = [b for b in results if not str(b.get("tool_use_id")).startswith("read")]
        names = [str(t.get("name")) for t in asked.get("tools") or []]
        used = {b.get("id") for b in blocks if b.get("type") == "tool_use"}
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": LAST_WORD}
        step = self.note(asked, results, names) if names else 3
        if step < 3:
            name, arguments = next((n for n in names if n.endswith("recall")), "none"), ASKED
            mark = f"call{step}"
            if step:
                file = f"{self.root}/{'protected.py' if step == 1 else 'ok.py'}"
                mark = f"call{step}" if f"read{step}" in used else f"read{step}"
                change = {"old_string": "x = 1", "new_string": "x = 2"}
                name = "Edit" if mark.startswith("call") else "Read"
                arguments = {"file_path": file} | (change if name == "Edit" else {})
            block = {"type": "tool_use", "id": mark, "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "scripted"}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        return [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
            {"type": "message_stop"},
        ]

    def responses(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        """The events of a `responses` stream."""
        results = [i for i in asked.get("input", []) if str(i.get("type")).endswith("_output")]
        tools = asked.get("tools", [])
        names = [str(t.get("name")) for t in tools]
        step = self.note(asked, results, names)
        item: dict[str, Any]
        if step == 0:
            # A model that has to search for tools finds it under the server's name.
            name = next((n for n in names if n.endswith("recall")), "recall")
            item = _call(step, name, ASKED)
            if name == "recall":
                item["namespace"] = "mcp__braincore"
        elif step in (1, 2):
            item = _codex_edit(step, tools, "protected.py" if step == 1 else "ok.py")
        else:
            text = {"type": "output_text", "text": LAST_WORD, "annotations": []}
            item = {"type": "message", "id": "msg", "role": "assistant", "content": [text]}
        usage = dict.fromkeys(("input_tokens", "output_tokens", "total_tokens"), 1)
        return [
            {"type": "response.created", "response": {"id": f"r{step}"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": f"r{step}", "usage": usage}},
        ]


def _call(step: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"f{step}",
        "call_id": f"c{step}",
        "name": name,
        "arguments": json.dumps(arguments),
    }


def _codex_edit(step: int, tools: list[dict[str, Any]], file: str) -> dict[str, Any]:
    """The edit by whichever tool this model is given: apply_patch, or a shell with a here-doc."""
    patch = f"*** Begin Patch\n*** Update File: {file}\n@@\n-x = 1\n+x = 2\n*** End Patch\n"
    named = {str(t.get("name")): t for t in tools}
    if "apply_patch" in named:
        if named["apply_patch"].get("type") == "custom":
            ids = {"id": f"t{step}", "call_id": f"c{step}"}
            return {"type": "custom_tool_call", "name": "apply_patch", "input": patch, **ids}
        return _call(step, "apply_patch", {"input": patch})
    command = f"apply_patch <<'EOF'\n{patch}EOF\n"
    if "exec_command" in named:
        return _call(step, "exec_command", {"cmd": command})
    if "shell_command" in named:
        return _call(step, "shell_command", {"command": command})
    return _call(step, "shell", {"command": ["bash", "-lc", command]})


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

        def answer(self, body: bytes, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            models = [{"id": "scripted", "object": "model"}]
            self.answer(json.dumps({"object": "list", "data": models, "models": []}).encode())

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
            path = self.path.partition("?")[0]
            if path.endswith(("/responses", "/messages")):
                events = model.messages(asked) if "/messages" in path else model.responses(asked)
                lines = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events]
                self.answer("".join(lines).encode(), "text/event-stream")
            elif "GenerateContent" in path:
                line = f"data: {json.dumps(model.gemini(asked))}\n\n"
                self.answer(line.encode(), "text/event-stream")
            elif path.endswith("generateContent"):
                self.answer(json.dumps(model.gemini(asked)).encode())
            else:
                self.answer(b'{"totalTokens": 10}')

    return Handler
