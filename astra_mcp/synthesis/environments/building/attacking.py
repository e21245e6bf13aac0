"""The ninth stage, where it is asked for: a model tries to earn the reward without knowing the question.

What it beats is mended by its transcript, or dropped. Source of the three roles (hacker, fixer, solver):
"Hardening Agent Benchmarks with Adversarial Hacker-Fixer Loops", arXiv 2606.08960; the solver is the
acceptance, which plays the gold calls of what was mended.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import TypeAdapter

from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.rendering import render_answer, render_refusal
from astra_mcp.environments.worlds import World, start_session
from astra_mcp.errors import ModelError, ModelFault, SandboxDiedError
from astra_mcp.llm.chat import ChatReply
from astra_mcp.llm.prompt import load_prompt
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.reward import solved_by
from astra_mcp.sandbox.protocol import Sandbox, SandboxSession
from astra_mcp.schemas import compile_schema
from astra_mcp.sent_answers import sent_by, shown_by
from astra_mcp.synthesis.environments.asking import stage_version
from astra_mcp.synthesis.environments.building.accepting import Refused
from astra_mcp.synthesis.environments.building.assembly import assemble
from astra_mcp.synthesis.environments.building.tool import BuildAttempts, Built
from astra_mcp.types import JsonObject, Origin, ToolResult

__all__ = ["Attacking", "Beaten", "Hacker", "attack_bundle"]

_PROMPT = load_prompt("astra_mcp.synthesis.environments.prompts", "attack")
_ARGUMENTS = TypeAdapter(JsonObject)
_MAX_CALLS = 24
_MAX_SHOWN = 2000


class Hacker(Protocol):
    """A model that holds conversations with tools; satisfied by :class:`~astra_mcp.llm.model.Model`."""

    async def complete(
        self, messages: Sequence[JsonObject], tools: Sequence[JsonObject], *, sample: int
    ) -> ChatReply:
        """Continue that of a number; equal ones of one number may be remembered."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Beaten:
    """How a hacker earned something."""

    tool: str
    """The tool that gave it away."""
    arguments: str
    """Those of the last call, as the hacker wrote them."""
    solved: frozenset[int]
    """Ids of the sub-tasks."""
    num_calls: int
    transcript: str
    """All calls of the episode with their results, the last of which earned."""


class Mending(Protocol):
    """Repairs what is beaten, and says whether honest calls still pass; satisfied by ``Accepting``."""

    @property
    def version(self) -> str:
        """Of all that its repairs depend on."""
        ...

    @property
    def attempts(self) -> BuildAttempts:
        """How often it may try."""
        ...

    async def examine(self, built: Built) -> Refused | None:
        """Run the acceptance; None where it passes."""
        ...

    async def repair(
        self,
        built: Built,
        complaints: Sequence[str],
        *,
        sample: int,
        step: str,
        only: str | None,
    ) -> Built:
        """Have a tool mended."""
        ...


class Tier(Protocol):
    """Decides what code cannot; satisfied by ``Judging``."""

    @property
    def version(self) -> str:
        """Of all that it depends on."""
        ...

    async def objection(self, built: Built) -> Rejected | None:
        """What is decided against an environment."""
        ...


@dataclass(frozen=True, slots=True)
class Attacking:
    """Lets environments through that the hacker does not beat.

    What it beats is mended once. The mended one has to pass what the first one passed before it came here,
    the acceptance and the second tier, and is then attacked in further episodes.
    """

    hacker: Hacker
    name_of_model: str
    sandbox: Sandbox
    mending: Mending
    num_episodes: int
    tier: Tier | None = None
    """None where the second tier is not asked for."""
    name = "attack"
    takes = Built

    @property
    def version(self) -> str:
        """Of the prompt, the model, the number of episodes, and what examines and judges the mended."""
        return stage_version(
            "attack",
            model=self.name_of_model,
            episodes=self.num_episodes,
            accepting=self.mending.version,
            judging=None if self.tier is None else self.tier.version,
        )

    async def run(self, item: Item[Built]) -> Made[Built] | Rejected:
        """Have one attacked; what is beaten is mended once, and attacked again."""
        built = item.value
        beaten = await self._beaten(built, 0)
        if beaten is None:
            return Made.of(item)
        mended = await self._mended(built, beaten)
        why = await self._refused(mended)
        if why is not None:
            return Rejected("beaten", f"{beaten.transcript}\n{why}")
        again = await self._beaten(mended, self.num_episodes)
        if again is not None:
            return Rejected("beaten", again.transcript)
        return Made.of(Item(id=item.id, value=mended))

    async def _mended(self, built: Built, beaten: Beaten) -> Built:
        complaint = (
            f"a caller who knows no question found an answer; mend {beaten.tool} so that only a call with"
            f" the right identifying arguments states it. The calls were: {beaten.transcript}"
        )
        return await self.mending.repair(
            built,
            [complaint],
            sample=self.mending.attempts.outer,
            step="attack",
            only=beaten.tool,
        )

    async def _refused(self, mended: Built) -> str | None:
        """Why a mended one does not stand where the first one stood before the attack."""
        refused = await self.mending.examine(mended)
        if refused is not None:
            return f"the mended one does not pass the acceptance: {'; '.join(refused.complaints)}"
        objection = None if self.tier is None else await self.tier.objection(mended)
        if objection is not None:
            return f"the mended one is judged {objection.reason}: {objection.detail}"
        return None

    async def _beaten(self, built: Built, first: int) -> Beaten | None:
        bundle = assemble(built)
        for episode in range(first, first + self.num_episodes):
            beaten = await attack_bundle(self.hacker, bundle, self.sandbox, episode)
            if beaten is not None:
                return beaten
        return None


async def attack_bundle(
    hacker: Hacker, bundle: Bundle, sandbox: Sandbox, episode: int
) -> Beaten | None:
    """Let a hacker play one episode.

    Args:
        hacker: Sees the tools alone.
        bundle: Is attacked.
        sandbox: Plays its tools.
        episode: Names the world, and the hacker's conversation: what it said in one is found again, also
            where the episode was cut off in its middle.

    Returns:
        How it earned something; None where it did not.

    Raises:
        ModelError: The hacker failed, or made no call.
        SandboxError: The sandbox failed.
    """
    world = World.of(bundle.content_hash, bundle.document.clock, episode)
    session = await start_session(sandbox, bundle, world)
    try:
        return await _play(hacker, bundle, session, episode)
    except SandboxDiedError:
        return None  # whoever kills the session earns nothing by it
    finally:
        await session.aclose()


async def _play(
    hacker: Hacker, bundle: Bundle, session: SandboxSession, number: int
) -> Beaten | None:
    messages = [*_PROMPT.render(calls=_MAX_CALLS).messages]
    tools = [tool.as_openai() for tool in bundle.document.tools]
    episode, calls = _Episode(bundle, session), list[str]()
    while len(calls) < _MAX_CALLS:
        reply = await hacker.complete(messages, tools, sample=number)
        if not reply.calls:
            break
        messages.append(_said(reply))
        for call in reply.calls[: _MAX_CALLS - len(calls)]:
            result, solved = await episode.call(call.name, call.arguments)
            calls.append(f"{call.name}({call.arguments}) -> {result.text[:_MAX_SHOWN]}")
            if solved:
                return Beaten(
                    tool=call.name,
                    arguments=call.arguments,
                    solved=solved,
                    num_calls=len(calls),
                    transcript="\n".join(calls),
                )
            told: JsonObject = {"role": "tool", "tool_call_id": call.id, "content": result.text}
            messages.append(told)
    if not calls:
        raise ModelError("the hacker made no call, so nothing was tried", ModelFault.DECLINED)
    return None


@dataclass(slots=True)
class _Episode:
    """Plays calls, and scores them as the gateway does."""

    bundle: Bundle
    session: SandboxSession
    told: set[int] = field(default_factory=set[int])
    """Sub-tasks whose answers the caller sent before any result showed them."""
    shown: set[int] = field(default_factory=set[int])

    async def call(self, name: str, text: str) -> tuple[ToolResult, frozenset[int]]:
        """The result of a call, and the sub-tasks that it solves."""
        spec = next((tool for tool in self.bundle.document.tools if tool.name == name), None)
        if spec is None:
            return ToolResult.from_text(f"there is no tool {name}", is_error=True), frozenset()
        try:
            arguments = _ARGUMENTS.validate_json(text or "{}")
        except ValueError:
            return render_refusal(name, ["the arguments are no JSON object"]), frozenset()
        job = self.bundle.job
        self.told |= sent_by(job, spec, arguments) - self.shown
        faults = compile_schema(spec.input_schema).faults(arguments)
        if faults:
            result = render_refusal(name, faults)
        else:
            result = render_answer(spec, await self.session.call(name, arguments))
        solved = solved_by(job, name, result, Origin.TOOL) - self.told
        self.shown |= shown_by(job, result)
        return result, solved


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
