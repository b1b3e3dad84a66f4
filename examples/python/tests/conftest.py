import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def golden() -> Path:
    """The bundled runs, and the directory of labelled runs around them."""
    return ROOT / "golden"


@pytest.fixture
def program() -> str:
    """The program `wrongturn` of the same source."""
    built = [
        os.environ.get("WRONGTURN"),
        *(ROOT / "target" / place / "wrongturn" for place in ("installed/bin", "debug")),
    ]
    for path in filter(None, built):
        if shutil.which(path):
            return str(path)
    pytest.skip("the program is not built: cargo build --features cli")


def chat(*calls, answer="Error: no such order"):
    """A chat in which the agent makes calls, each `(tool, arguments)`, that all get the same answer."""
    messages = [{"role": "user", "content": "Where is my order?"}]
    for number, (tool, arguments) in enumerate(calls):
        function = {"name": tool, "arguments": arguments}
        messages.append(
            {
                "role": "assistant",
                "tool_calls": [{"id": str(number), "type": "function", "function": function}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": str(number), "content": answer})
    return messages


#: The agent repeats a call that has failed.
STUBBORN = chat(("get_order", '{"id": "17"}'), ("get_order", '{"id": "17"}'), ("get_order", '{"id": "17"}'))
#: The agent makes one call, which succeeds.
SOUND = chat(("get_order", '{"id": "17"}'), answer="shipped")
