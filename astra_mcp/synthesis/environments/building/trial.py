"""A quick run of one tool in the sandbox: does it load, and do its calls, and no others, find their answers?

The acceptance decides; this finds in milliseconds most of what it would refuse. Source: ASTRA sec. 2.2.3.
"""

from astra_mcp.answers import contains_answer
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.rendering import render_answer
from astra_mcp.environments.worlds import World, start_session
from astra_mcp.errors import BundleError, SandboxDiedError, ToolCodeError
from astra_mcp.sandbox.protocol import Sandbox, SandboxSession
from astra_mcp.synthesis.environments.building.assembly import single_bundle
from astra_mcp.synthesis.environments.building.tool import SolvingCall, Tool
from astra_mcp.synthesis.environments.questions.instance import Instance
from astra_mcp.types import JsonObject, ToolResult

__all__ = ["trial_complaint"]

_MAX_NEIGHBOURS = 2
_MAX_SHOWN = 600


async def trial_complaint(sandbox: Sandbox, instance: Instance, tool: Tool) -> str | None:
    """Say what is wrong with a tool, in words that a model mends it by; None where nothing shows.

    Raises:
        SandboxError: The sandbox itself failed.
    """
    try:
        bundle = single_bundle(instance, tool)
    except BundleError as error:
        return str(error)
    world = World.of(bundle.content_hash, bundle.document.clock, 0)
    try:
        session = await start_session(sandbox, bundle, world)
    except ToolCodeError as error:
        return f"the module does not load: {error}"
    try:
        return await _calls_complaint(session, bundle, instance, tool)
    except SandboxDiedError as error:
        return f"a call did not end: {error}"
    finally:
        await session.aclose()


async def _calls_complaint(
    session: SandboxSession, bundle: Bundle, instance: Instance, tool: Tool
) -> str | None:
    for call in tool.calls:
        answer = instance.sub(call.solves).answer
        result = await _play(session, bundle, call.arguments)
        if result.is_error or not contains_answer(result.text, answer):
            what = "fails" if result.is_error else "does not state"
            shown = result.text[:_MAX_SHOWN]
            return f"the call {call.arguments} {what} the answer {answer!r}; it returns: {shown}"
        for arguments in _others(tool, call):
            result = await _play(session, bundle, arguments)
            if not result.is_error and contains_answer(result.text, answer):
                return (
                    f"the call {arguments}, with another record, states the answer {answer!r} too"
                )
    return None


def _others(tool: Tool, call: SolvingCall) -> list[JsonObject]:
    names = [n for n in call.arguments if tool.document.roles.get(n) != "modifying"]
    return [
        {**call.arguments, name: value}
        for name in names
        for value in call.neighbours.get(name, ())[:_MAX_NEIGHBOURS]
        if value != call.arguments[name]
    ]


async def _play(session: SandboxSession, bundle: Bundle, arguments: JsonObject) -> ToolResult:
    spec = bundle.document.tools[0]
    return render_answer(spec, await session.call(spec.name, arguments))
