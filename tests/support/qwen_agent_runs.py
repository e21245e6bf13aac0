"""Qwen-Agent in an environment of its own, and a model for it that makes known calls."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from astra_mcp.completions import Reply
from gateway.api.seams import GoldCall

from completions_server import Body, CompletionsServer, asks, says
from installed_programs import python_of

VERSION = "0.0.34"
REQUIREMENTS = (
    f"qwen-agent[mcp]=={VERSION}",
    "mcp==1.30.0",  # later majors lack what Qwen-Agent imports
    # Imported by Qwen-Agent, and not declared.
    "numpy",
    "soundfile",
    "tqdm",
    "python-dateutil",
)
LAST_WORDS = "That is all I needed."
_ASTRA_MCP = (sys.executable, "-P", "-m", "astra_mcp")
_PROGRAM = Path(__file__).with_name("qwen_agent_program.py")
_DEADLINE_SECONDS = 90


def install_qwen_agent() -> Path:
    """Name the interpreter that has Qwen-Agent."""
    return python_of(f"qwen-agent-{VERSION}", *REQUIREMENTS)


@dataclass
class Oracle:
    """A model that makes the gold calls one by one, each after it has seen the last one's result."""

    gold: Sequence[GoldCall]
    is_raw: bool
    """Answer with calls of the API; else in text, as Qwen-Agent's own prompt tells the model to."""
    server: str = "astra-mcp"
    """Name of the entry; Qwen-Agent calls a tool by it, a hyphen, and the tool's own name."""
    made: int = 0
    seen: list[str] = field(default_factory=list[str])
    """What the requests held as results, newest request last."""

    def answer(self, body: Body) -> Reply:
        """Make the next call, or say the last words."""
        self.seen = _results(body)
        assert len(self.seen) == self.made
        if self.made == len(self.gold):
            return says(LAST_WORDS)
        call = self.gold[self.made]
        name = f"{self.server}-{call.tool}"
        assert name in _offered(body)
        self.made += 1
        if self.is_raw:
            return asks((f"call_{self.made}", name, call.arguments))
        asked = json.dumps({"name": name, "arguments": call.arguments}, ensure_ascii=False)
        return says(f"<tool_call>\n{asked}\n</tool_call>")


async def run_qwen_agent(
    interpreter: Path,
    completions: CompletionsServer,
    oracle: Oracle,
    question: str,
    connected: Sequence[str],
) -> dict[str, Any]:
    """Run the Assistant on what ``astra-mcp connect qwen-agent`` answers, in a process of its own."""
    completions.always = oracle.answer
    connect = [*_ASTRA_MCP, "connect", "qwen-agent", *connected, "--json"]
    answer = await anyio.run_process(connect)
    model = {
        "model": "scripted",
        "model_type": "oai",
        "model_server": completions.base_url,
        "api_key": "none",
        "generate_cfg": {"use_raw_api": oracle.is_raw, "max_retries": 0},
    }
    task = {"tools": [json.loads(answer.stdout)["config"]], "model": model, "question": question}
    with anyio.fail_after(_DEADLINE_SECONDS):
        done = await anyio.run_process(
            [str(interpreter), "-P", str(_PROGRAM)],
            input=json.dumps(task).encode(),
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads(done.stdout.decode().splitlines()[-1])


def _offered(body: Body) -> list[str]:
    """Names of the tools that the model is told of: in the request, or in Qwen-Agent's own prompt."""
    if "tools" in body:
        return [tool["function"]["name"] for tool in body["tools"]]
    _, _, told = _text_of(body["messages"][0]).partition("\n<tools>\n")
    lines = told.partition("\n</tools>")[0].splitlines()
    return [json.loads(line)["function"]["name"] for line in lines]


def _results(body: Body) -> list[str]:
    """What the tools answered so far, as the model reads it."""
    own = [_text_of(m) for m in body["messages"] if m["role"] == "tool"]
    users = [_text_of(m) for m in body["messages"] if m["role"] == "user"]
    told = [
        part.partition("\n</tool_response>")[0]
        for text in users
        for part in text.split("<tool_response>\n")[1:]
    ]
    return own + told


def _text_of(message: dict[str, Any]) -> str:
    content: str | list[dict[str, str]] = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
