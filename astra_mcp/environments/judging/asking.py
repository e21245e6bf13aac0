"""Asks a model about one question of a bundle that passes the acceptance: all that applies, several times."""

from functools import partial
from itertools import product

from pydantic import BaseModel, ConfigDict

from astra_mcp.concurrency import map_concurrently
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.judging.documents import documents_of
from astra_mcp.environments.judging.judgement import Answer, Judgement, Question, Vote
from astra_mcp.environments.rendering import render_answer
from astra_mcp.environments.worlds import World, start_session
from astra_mcp.errors import ModelError
from astra_mcp.llm.model import Model
from astra_mcp.llm.prompt import Prompt, load_prompt
from astra_mcp.sandbox.protocol import Sandbox

__all__ = ["judge_bundle"]

_MAX_ASKED = 8
"""Votes on one bundle that are asked for at once; how many calls a model gets is its role's matter."""


class _Opinion(BaseModel):
    """What the model says to a question, its reason first: it then follows from it."""

    model_config = ConfigDict(frozen=True)

    reason: str
    verdict: Answer


async def judge_bundle(
    model: Model, num_votes: int, bundle: Bundle, sandbox: Sandbox
) -> tuple[Judgement, ...]:
    """Ask every question that applies; a vote that the model fails to give counts for neither side.

    Args:
        model: Is asked.
        num_votes: How often each question is asked, as another sample each time.
        bundle: Passes the acceptance; seen as the question that is judged.
        sandbox: Plays its gold calls, whose results are judged too.

    Raises:
        BudgetSpentError: The budget does not allow the calls.
        PipelineError: The cache does not answer.
        SandboxError: The sandbox failed.
    """
    results = await _play_gold(bundle, sandbox)
    prompts = {
        question: load_prompt("astra_mcp.environments.judging.prompts", question.value).render(
            document=document
        )
        for question, document in documents_of(bundle.document, results).items()
    }
    asked = list(product(prompts, range(num_votes)))
    votes = await map_concurrently(partial(_vote, model, prompts), asked, limit=_MAX_ASKED)
    return tuple(
        Judgement(
            question, tuple(votes[place * num_votes : (place + 1) * num_votes]), bundle.question_id
        )
        for place, question in enumerate(prompts)
    )


async def _play_gold(bundle: Bundle, sandbox: Sandbox) -> tuple[str, ...]:
    """The texts of the gold calls' results, in an episode of seed 0."""
    tools = {tool.name: tool for tool in bundle.document.tools}
    world = World.of(bundle.content_hash, bundle.document.clock, 0)
    session = await start_session(sandbox, bundle, world)
    try:
        return tuple(
            [
                render_answer(tools[call.tool], await session.call(call.tool, call.values)).text
                for call in bundle.document.gold
            ]
        )
    finally:
        await session.aclose()


async def _vote(model: Model, prompts: dict[Question, Prompt], asked: tuple[Question, int]) -> Vote:
    question, sample = asked
    try:
        opinion = await model.ask(prompts[question], _Opinion, sample=sample)
    except ModelError as error:
        return Vote(None, str(error))
    return Vote(opinion.verdict, opinion.reason)
