"""A server of verl that samples with Transformers, by the sampler of the native trainer."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false, reportUnknownParameterType=false

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import ray
import torch
from transformers import AutoModelForCausalLM
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

from astra_mcp.errors import TrainingError
from training.evaluation.sampler import ModelSampler
from training.render import load_tokenizer
from training.rl.core.policy import Sampled

__all__ = ["ServerAdapter", "TransformersReplica"]

_GATHER_SECONDS = 0.02
"""How long a batch waits for further turns."""
_MOST = 64
"""Turns of one batch."""


def _name(rank: int) -> str:
    return f"transformers_server_{rank}"


@dataclass(slots=True)
class _Turn:
    context: Sequence[int]
    temperature: float
    max_tokens: int
    seed: int
    written: "asyncio.Future[Sampled]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def kind(self) -> tuple[float, int]:
        """Only turns of one kind are written together."""
        return (self.temperature, self.max_tokens)


class _Server:
    """Holds the model; turns that are asked for at once are written in one batch."""

    def __init__(self, model: str) -> None:
        torch.set_num_threads(1)
        self._model: Any = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
        self._sampler = ModelSampler(self._model, load_tokenizer(model)[0].end_ids)
        self._version: int | None = None
        self._waiting: list[_Turn] = []
        self._lock = asyncio.Lock()

    async def generate(
        self,
        request_id: str,
        prompt_ids: Sequence[int],
        sampling_params: Mapping[str, Any],
        **_: Any,
    ) -> TokenOutput:
        """Write one turn; every call tries to write whatever waits."""
        del request_id
        asked = sampling_params
        turn = _Turn(prompt_ids, asked["temperature"], asked["max_tokens"], asked["seed"])
        self._waiting.append(turn)
        await asyncio.sleep(_GATHER_SECONDS)  # noqa: TID251 - Ray runs asyncio
        async with self._lock:
            if not turn.written.done():
                await self._write(
                    [each for each in self._waiting if each.kind == turn.kind][:_MOST]
                )
        sampled = await turn.written
        return TokenOutput(
            token_ids=[*sampled.ids],
            log_probs=[*sampled.logprobs],
            stop_reason="completed",
            extra_fields={"global_steps": self._version},
        )

    async def _write(self, batch: Sequence[_Turn]) -> None:
        self._waiting = [each for each in self._waiting if each not in batch]
        kind = batch[0]
        try:
            written = await asyncio.to_thread(
                self._sampler.generate,
                [each.context for each in batch],
                temperature=kind.temperature,
                max_tokens=kind.max_tokens,
                seeds=[each.seed for each in batch],
            )
        except Exception as error:
            for each in batch:
                each.written.set_exception(error)
            raise
        for each, sampled in zip(batch, written, strict=True):
            each.written.set_result(sampled)

    async def load(self, weights: Mapping[str, torch.Tensor], version: int | None) -> None:
        """Take the weights of a step.

        Raises:
            TrainingError: They are not those of the model.
        """
        async with self._lock:
            missing, unexpected = self._model.load_state_dict(weights, strict=False)
            tied = {"lm_head.weight"} if self._model.config.tie_word_embeddings else set[str]()
            if set(missing) - tied or unexpected:
                raise TrainingError(
                    f"weights of another model: {missing} missing, {unexpected} unknown"
                )
            self._model.tie_weights()
            self._version = version

    async def ready(self) -> bool:
        return True

    async def wake_up(self, *_: Any, **__: Any) -> None:
        """The model is always there."""

    sleep = abort_all_requests = resume_generation = wake_up
    clear_kv_cache = release_kv_cache = resume_kv_cache = wake_up
    start_profile = stop_profile = wake_up


class TransformersReplica(RolloutReplica):
    """One server, in a process of its own."""

    async def launch_servers(self) -> None:
        """Start it."""
        path = getattr(self.model_config, "path", None) or self.model_config["path"]
        actor = cast("Any", ray.remote)(num_cpus=1, max_concurrency=4096)(_Server)
        server: Any = actor.options(name=_name(self.replica_rank)).remote(path)
        self._server_handle, self.servers = server, [server]
        self._server_address = _name(self.replica_rank)
        await server.ready.remote()


class ServerAdapter(BaseRollout):
    """The trainer's end: hands over weights."""

    def __init__(
        self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1
    ) -> None:
        super().__init__(config, model_config, device_mesh)
        self._rank = int(os.environ["RANK"]) if replica_rank == -1 else replica_rank

    async def resume(self, tags: Sequence[str]) -> None:
        """Nothing sleeps."""
        del tags

    async def release(self) -> None:
        """Nothing sleeps."""

    async def update_weights(
        self,
        weights: Iterable[tuple[str, torch.Tensor]],
        wire_format: str = "named_tensors",
        global_steps: int | None = None,
        **_: Any,
    ) -> None:
        """Hand over all weights, in float32."""
        if wire_format != "named_tensors":
            raise TrainingError(f"verl sends weights as {wire_format}, which is not known here")
        found = {name: w.detach().to("cpu", torch.float32).clone() for name, w in weights}
        server: Any = ray.get_actor(_name(self._rank))
        await server.load.remote(found, global_steps)
