"""Small sets and runs of SFT: rows that anybody could have written, and training in forks of this process."""

import json
import os
import signal
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from astra_mcp.types import JsonObject, JsonValue
from training.render import Renderer, Tokenizer, load_tokenizer
from training.sft.configuring import read_settings
from training.sft.preparing import Prepared, prepare

__all__ = ["chat_rows", "in_fork", "kill_myself", "prepared_run", "text_of", "write_rows"]

_TOOL: JsonObject = {
    "type": "function",
    "function": {
        "name": "get_box",
        "description": "Look into a box.",
        "parameters": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
        },
    },
}


def chat_rows(count: int, *, begin: int = 0) -> Sequence[JsonObject]:
    """Chats of one call each, as ``export sft`` writes them, but for where they come from."""
    return [_chat(number) for number in range(begin, begin + count)]


def _chat(number: int) -> JsonObject:
    name, id = f"Box {number}", f"call-{number}"
    call: JsonObject = {"name": "get_box", "arguments": json.dumps({"name": name})}
    messages: list[JsonValue] = [
        {"role": "user", "content": f"What is in {name}?"},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": None,
            "tool_calls": [{"id": id, "type": "function", "function": call}],
        },
        {
            "role": "tool",
            "tool_call_id": id,
            "content": f"a key {number * number}",
            "name": "get_box",
        },
        {
            "role": "assistant",
            "content": f"There is a key {number * number}.",
            "reasoning_content": None,
            "tool_calls": [],
        },
    ]
    return {"messages": messages, "tools": json.dumps([_TOOL]), "metadata": None}


def write_rows(file: Path, rows: Sequence[JsonObject]) -> Path:
    """Write lines of JSON."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def prepared_run(
    model: Path,
    data: Path,
    out: Path,
    *,
    sets: Sequence[JsonObject] | None = None,
    **sections: Any,
) -> Prepared:
    """Prepare a run of a small model; sections change its settings, sets stand for the data."""
    training = {
        "learning_rate": 1e-2,
        "epochs": 2,
        "batch_size": 8,
        "micro_batch_size": 4,
        "precision": "float32",
        **sections.pop("training", {}),
    }
    settings = read_settings(
        None,
        None,
        {
            "model": str(model),
            "out": str(out),
            "data": sets or [{"file": str(data)}],
            "log": {"tensorboard": False},
            "training": training,
            **sections,
        },
    )
    tokenizer, renderer = text_of(model)
    return prepare(settings, renderer, tokenizer, model=str(model), versions={})


def text_of(model: Path) -> tuple[Tokenizer, Renderer]:
    """Load what a model reads and writes by."""
    return load_tokenizer(str(model))


def in_fork(work: Callable[[], object]) -> int:
    """Run something in a fork of this process; gives its exit code, or the signal that killed it, below 0."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of a fork beside threads, which only wait here
        child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - this process ends here, and says why
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def kill_myself() -> None:
    """End this process at once, as a kill from outside does."""
    os.kill(os.getpid(), signal.SIGKILL)
