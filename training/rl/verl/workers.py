"""Processes that play, started again where one is lost; what it played fails, and other groups are played."""

# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false

import time
from secrets import token_hex
from typing import Any

import ray
import transfer_queue as tq
from verl.trainer.ppo.v1 import AgentLoopManagerTQ, AgentLoopWorkerTQ

__all__ = ["EpisodeManager"]

_LOOK_SECONDS = 5.0
_UNDER_WAY = ("pending", "running")


class _Worker(AgentLoopWorkerTQ.__ray_metadata__.modified_class):  # type: ignore[name-defined, misc]
    """Says which life of the process it is: Ray starts it again under the same name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._life = token_hex(8)

    async def generate_sequences(self, batch: Any) -> str:
        """Begin to play, and say who does."""
        await super().generate_sequences(batch)
        return self._life

    async def life(self) -> str:
        """Name this life."""
        return self._life


class EpisodeManager(AgentLoopManagerTQ):
    """Knows which group is played by whom, and so which groups went with a process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        again = ray.remote(max_restarts=-1, max_task_retries=-1)
        self.agent_loop_workers_class = again(_Worker)
        self._players: dict[str, tuple[int, str]] = {}
        self._looked_at = time.monotonic()

    def generate_sequences(self, prompts: Any) -> None:
        """Divide groups among the processes."""
        parts = prompts.chunk(len(self.agent_loop_workers))
        workers = self.agent_loop_workers[: len(parts)]
        begun = [w.generate_sequences.remote(p) for w, p in zip(workers, parts, strict=True)]
        for place, (part, life) in enumerate(zip(parts, ray.get(begun), strict=True)):
            self._players |= dict.fromkeys(map(str, part["uid"]), (place, life))

    def fail_lost(self) -> None:
        """Mark the groups as failed that went with a process; looks now and then alone."""
        if time.monotonic() - self._looked_at < _LOOK_SECONDS:
            return
        lives = ray.get([worker.life.remote() for worker in self.agent_loop_workers])
        self._looked_at = time.monotonic()
        gone = {uid for uid, (place, life) in self._players.items() if lives[place] != life}
        known = tq.kv_list() or {}
        for partition, found in known.items():
            lost = [uid for uid in gone if uid in found and found[uid].get("status") in _UNDER_WAY]
            if lost:
                tags = [{**found[uid], "status": "failure"} for uid in lost]
                tq.kv_batch_put(keys=lost, partition_id=partition, tags=tags)
        there = {uid for found in known.values() for uid in found}
        self._players = {
            uid: player for uid, player in self._players.items() if uid in there and uid not in gone
        }
