"""The coding clients that braincore knows, each in a module of its own."""

from braincore.serve.clients.claude import CLAUDE
from braincore.serve.clients.codex import CODEX
from braincore.serve.clients.gemini import GEMINI
from braincore.serve.clients.speech import Client

__all__ = ["CLIENTS"]

CLIENTS: dict[str, Client] = {client.name: client for client in (CLAUDE, CODEX, GEMINI)}
