"""The ninth stage, where it is asked for: a model tries to earn the reward without knowing the question.

What it beats is mended by its transcript, or dropped. Source of the three roles (hacker, fixer, solver):
"Hardening Agent Benchmarks with Adversarial Hacker-Fixer Loops", arXiv 2606.08960; the solver is the
acceptance, which plays the gold calls of what was mended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import TypeAdapter

from astra_mcp.answers import contains_answer
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.rendering import render_answer, render_refusal
from astra_mcp.environments.worlds import World, start_session
from astra_mcp.errors import SandboxDiedError
from astra_mcp.llm.chat import ChatReply
from astra_mcp.llm.prompt import load_prompt
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.reward import solved_by
from astra_mcp.sandbox.protocol import Sandbox, SandboxSession
from astra_mcp.schemas import compile_schema
from astra_mcp.synthesis.environments.asking import stage_version
from astra_mcp.synthesis.environments.building.accepting import Accepting
from astra_mcp.synthesis.environments.building.assembly import assemble
from astra_mcp.synthesis.environments.building.tool import Built
from astra_mcp.types import JsonObject, Origin, ToolResult

__all__ = ["Attacking", "Hacker", "attack_bundle"]

_PROMPT = load_prompt("astra_mcp.synthesis.environments.prompts", "attack")
_ARGUMENTS = TypeAdapter(JsonObject)
_MAX_CALLS = 24
_MAX_SHOWN = 2000


class Hacker(Protocol):
    """A model that holds a conversation with tools; satisfied by :class:`~astra_mcp.llm.model.Model`."""

    async def complete(
        self, messages: Sequence[JsonObject], tools: Sequence[JsonObject]
    ) -> ChatReply:
        """Continue it."""
        ...


@dataclass(frozen=True, slots=True)
class Attacking:
    """Lets environments through that the hacker does not beat."""

    hacker: Hacker
    name_of_model: str
    sandbox: Sandbox
    accepting: Accepting
    num_episodes: int
    name = "attack"
    takes = Built

    @property
    def version(self) -> str:
        """Of the prompt, the model and the number of episodes."""
        return stage_version(
            "attack", "repair", model=self.name_of_model, episodes=self.num_episodes
        )

    async def run(self, item: Item[Built]) -> Made[Built] | Rejected:
        """Have one attacked; what is beaten is mended once, and attacked again."""
        built = item.value
        transcript = await self._beaten(built)
        if transcript is None:
            return Made.of(item)
        complaint = (
            "a caller who knows no question found an answer; mend the tool so that only a call with the right"
            f" identifying arguments states it. The calls were: {transcript}"
        )
        mended = await self.accepting.repair(
            built, [complaint], sample=self.accepting.attempts.outer
        )
        refused = await self.accepting.examine(mended)
        if refused is None and await self._beaten(mended) is None:
            return Made.of(Item(id=item.id, value=mended))
        return Rejected("beaten", transcript)

    async def _beaten(self, built: Built) -> str | None:
        bundle = assemble(built)
        for episode in range(self.num_episodes):
            transcript = await attack_bundle(self.hacker, bundle, self.sandbox, episode)
            if transcript is not None:
                return transcript
        return None


async def attack_bundle(
    hacker: Hacker, bundle: Bundle, sandbox: Sandbox, episode: int
) -> str | None:
    """Let a hacker play one episode.

    Returns:
        Its calls with their results, where one of them earned something; else None.

    Raises:
        ModelError: The hacker failed.
        SandboxError: The sandbox failed.
    """
    world = World.of(bundle.content_hash, bundle.document.clock, episode)
    session = await start_session(sandbox, bundle, world)
    try:
        return await _play(hacker, bundle, session)
    except SandboxDiedError:
        return None  # whoever kills the session earns nothing by it
    finally:
        await session.aclose()


async def _play(hacker: Hacker, bundle: Bundle, session: SandboxSession) -> str | None:
    messages = [*_PROMPT.render(calls=_MAX_CALLS).messages]
    tools = [tool.as_openai() for tool in bundle.document.tools]
    calls: list[str] = []
    while len(calls) < _MAX_CALLS:
        reply = await hacker.complete(messages, tools)
        if not reply.calls:
            return None
        messages.append(_said(reply))
        for call in reply.calls:
            result, is_earning = await _called(bundle, session, call.name, call.arguments)
            calls.append(f"{call.name}({call.arguments}) -> {result.text[:_MAX_SHOWN]}")
            if is_earning:
                return "\n".join(calls)
            told: JsonObject = {"role": "tool", "tool_call_id": call.id, "content": result.text}
            messages.append(told)
    return None


async def _called(
    bundle: Bundle, session: SandboxSession, name: str, text: str
) -> tuple[ToolResult, bool]:
    """The result of a call, and whether it solves a sub-task whose answer the call does not hold itself."""
    spec = next((tool for tool in bundle.document.tools if tool.name == name), None)
    if spec is None:
        return ToolResult.from_text(f"there is no tool {name}", is_error=True), False
    try:
        arguments = _ARGUMENTS.validate_json(text or "{}")
    except ValueError:
        return render_refusal(name, ["the arguments are no JSON object"]), False
    faults = compile_schema(spec.input_schema).faults(arguments)
    if faults:
        return render_refusal(name, faults), False
    result = render_answer(spec, await session.call(name, arguments))
    solved = solved_by(bundle.job, name, result, Origin.TOOL)
    answers = [item.answer for item in bundle.job if item.id in solved]
    return result, any(not contains_answer(text, answer) for answer in answers)


def _said(reply: ChatReply) -> JsonObject:
    return {
        "role": "assistant",
        "content": reply.content,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in reply.calls
        ],
    }
