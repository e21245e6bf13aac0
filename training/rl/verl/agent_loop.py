"""verl's agent loop over the one core: the same agent, the same tokens and the same limits."""

# pyright: reportUnknownParameterType=false, reportPrivateUsage=false
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import (
    AgentLoopBase,
    AgentLoopMetrics,
    AgentLoopOutput,
)

from astra_mcp.trajectory import AssistantMessage, Trajectory
from gateway.api.client import GatewayClient
from training.evaluation.sampler import limits_of_model
from training.render import load_tokenizer
from training.rl.core.policy import Sampled
from training.rl.core.policy_agent import PolicyAgent
from training.rl.core.token_log import TokenLog
from training.rl.native.generation import limits_of_episode
from training.rl.verl.account import Account, Line
from training.rl.verl.dataset import HELD_OUT
from training.rl.verl.plan import Plan
from training.rl.verl.processes import KEY_VARIABLE
from training.rl.verl.settings import VerlSettings
from training.rollout.plan import Rollout
from training.rollout.run import run_rollout
from training.sft.model import model_config
from training.signals.health.monitor import structures_of
from training.signals.health.structure import Classifier
from training.signals.supervision.gold import Speech
from training.signals.supervision.guidance import help_of

__all__ = ["EpisodeLoop"]


class _Stage:
    """What all episodes of one process share."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.limits = limits_of_episode(plan.settings, limits_of_model(model_config(plan.model)))
        self.tokenizer, self.renderer = load_tokenizer(plan.model)
        self.classifier = Classifier.of(self.renderer)
        self.guidance = plan.guidance(Speech(self.renderer, self.tokenizer))
        self.account = Account(plan.episodes)
        settings = plan.settings
        self.seats = asyncio.Semaphore(settings.limits.concurrency // settings.verl.workers)
        self._gateway: GatewayClient | None = None
        self._opening = asyncio.Lock()

    async def gateway(self) -> GatewayClient:
        """Give the client of this process, which lives as long as it."""
        async with self._opening:
            if self._gateway is None:
                client = GatewayClient(self.plan.url, os.environ[KEY_VARIABLE])
                self._gateway = await client.__aenter__()
            return self._gateway


@lru_cache(maxsize=1)
def _stage(file: str) -> _Stage:
    return _Stage(Plan.read(file))


class EpisodeLoop(AgentLoopBase):
    """Plays one episode; verl makes one for each."""

    def __init__(self, *args: Any, plan: str, **kwargs: Any) -> None:
        """Take the plan's file beside what verl gives."""
        super().__init__(*args, **kwargs)
        self._stage = _stage(plan)

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> Any:
        """Play it, and note it; one that failed has no output, so that its group is left out."""
        stage, asked, sample = self._stage, kwargs["extra_info"], int(kwargs["session_id"])
        step, place = int(kwargs["global_steps"]), int(asked["place"])
        if asked["split"] == HELD_OUT:
            planned = stage.plan.validation[place]
            rollout, kind, temperature = planned.rollout, planned.kind, planned.temperature
        else:
            rollout = stage.plan.group(place, max(step - 1, 0))[sample]
            kind, temperature = "train", 1.0
        writer = _Writer(self, sampling_params, temperature)
        log = TokenLog()
        async with stage.seats:
            try:
                trajectory = await self._play(rollout, log, writer)
            except Exception as error:
                words = f"{type(error).__name__}: {error}"
                stage.account.note(
                    Line(
                        step=step,
                        kind=kind,
                        help=help_of(rollout),
                        group=place,
                        sample=sample,
                        episode=None,
                        failure=words,
                    )
                )
                raise
        line = _line(trajectory, log, step=step, kind=kind, place=place)
        if kind == "train":
            forms = structures_of(log.ids, log.turns, stage.classifier, stage.tokenizer)
            line = replace(line, structures=forms)
            if stage.plan.settings.signals.is_supervised:
                stage.account.keep(step, trajectory)
        stage.account.note(line)
        return [] if line.reward is None else _output(line, log, writer, stage.plan.settings)

    async def _play(self, rollout: Rollout, log: TokenLog, writer: "_Writer") -> Trajectory:
        stage = self._stage
        agent = PolicyAgent(
            stage.renderer,
            stage.tokenizer,
            logs={rollout.agent_seed: (0, log)},
            write=writer,
            leave=lambda _player: None,
            limits=stage.limits,
            guides=stage.guidance.guides([rollout]),
        )
        gateway = await stage.gateway()
        return await run_rollout(gateway, agent, rollout, limits=stage.limits.of_play)


class _Writer:
    """Asks verl's servers for the turns of one episode; a TurnWriter."""

    def __init__(self, loop: EpisodeLoop, sampling: dict[str, Any], temperature: float) -> None:
        self._servers = loop.server_manager
        self._stage = loop._stage
        self._sampling = {**sampling, "temperature": temperature, "logprobs": True}
        self._request = uuid4().hex  # the same for all turns, so that one server keeps what it read
        self.seconds = 0.0
        self.versions: list[int] = []
        """Of the weights that wrote the turns."""

    async def __call__(self, player: int, context: Sequence[int], seed: int) -> Sampled:
        """See :class:`training.rl.core.policy_agent.TurnWriter`."""
        del player
        stage, clock = self._stage, asyncio.get_running_loop()
        began = clock.time()
        asked = {
            **self._sampling,
            "max_tokens": stage.limits.turn_tokens,
            "stop_token_ids": sorted(stage.tokenizer.end_ids),
        }
        if stage.plan.settings.verl.device == "cpu":
            asked["seed"] = seed  # vLLM samples one by one what has a seed of its own
        found = await self._servers.generate(
            self._request, prompt_ids=[*context], sampling_params=asked
        )
        self.seconds += clock.time() - began
        version = found.extra_fields.get("global_steps")
        if version is not None:
            self.versions.append(int(version))
        ids = tuple(found.token_ids)
        is_ended = bool(ids) and ids[-1] in stage.tokenizer.end_ids
        return Sampled(ids, tuple(found.log_probs or ()), is_ended)


def _line(trajectory: Trajectory, log: TokenLog, *, step: int, kind: str, place: int) -> Line:
    reward, failure = trajectory.reward, trajectory.failure
    words = None if failure is None else f"at the boundary {failure.boundary}: {failure.message}"
    if failure is None and reward is None:
        words = "the source has nothing to solve, so there is no reward"
    elif failure is None and not log.turns:
        words = "the episode ended before the first turn"
    return Line(
        step=step,
        kind=kind,
        help=help_of(trajectory),
        group=place,
        sample=trajectory.sample or 0,
        episode=trajectory.episode_id,
        reward=None if reward is None or words else reward.reward,
        recall=None if reward is None else reward.recall,
        precision=None if reward is None else reward.precision,
        calls=sum(
            len(message.tool_calls)
            for message in trajectory.messages
            if isinstance(message, AssistantMessage)
        ),
        turns=len(log.turns),
        tokens=sum(log.mask),
        response_tokens=len(log.ids) - log.num_prompt,
        stop=trajectory.stop.value,
        failure=words,
    )


def _output(line: Line, log: TokenLog, writer: _Writer, settings: VerlSettings) -> AgentLoopOutput:
    begin, versions = log.num_prompt, writer.versions or [line.step]
    known = {"acc": line.reward, "recall": line.recall, "precision": line.precision}
    is_trained = line.kind == "train"
    return AgentLoopOutput(
        prompt_ids=log.ids[:begin],
        response_ids=log.ids[begin:],
        response_mask=[int(is_written) for is_written in log.mask[begin:]],
        response_logprobs=log.logprobs[begin:],
        reward_score=line.earned(settings.objective.reward) if is_trained else line.reward,
        num_turns=line.turns,
        metrics=AgentLoopMetrics(generate_sequences=writer.seconds),
        extra_fields={
            "reward_extra_info": {**known, "calls": line.calls},
            "min_global_steps": min(versions),
            "max_global_steps": max(versions),
        },
    )
