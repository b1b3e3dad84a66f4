"""Messages of SDKs and frameworks as the JSON that the library reads."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Iterable
from datetime import date, datetime
from enum import Enum
from typing import Any

#: The Claude Agent SDK gives its messages and blocks no type tags; these are the tags of Anthropic's API.
_ROLES = {"UserMessage": "user", "AssistantMessage": "assistant"}
_BLOCKS = {
    "TextBlock": "text",
    "ThinkingBlock": "thinking",
    "ToolUseBlock": "tool_use",
    "ToolResultBlock": "tool_result",
    "ServerToolUseBlock": "server_tool_use",
}


def _plain(value: Any) -> Any:
    """Converts an object that `json` cannot write to one that it can."""
    name = type(value).__name__
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True, by_alias=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        if type(value).__module__.startswith("claude_agent_sdk"):
            fields = {key: one for key, one in fields.items() if one is not None}
            if name in _ROLES:
                return {"role": _ROLES[name], "content": fields["content"]}
            if name in _BLOCKS:
                return {"type": _BLOCKS[name], **fields}
        return fields
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"expected messages as dicts or objects of an SDK, got {type(value).__qualname__}")


def _is_message(value: Any) -> bool:
    """Returns false for reports of the Claude Agent SDK that are not messages, such as the cost of a query."""
    return not type(value).__module__.startswith("claude_agent_sdk") or type(value).__name__ in _ROLES


def to_json(messages: Any) -> bytes:
    """Writes messages as one JSON document."""
    if isinstance(messages, Iterable) and not isinstance(messages, (str, bytes, dict)):
        messages = [message for message in messages if _is_message(message)]
    return json.dumps(messages, default=_plain).encode()
