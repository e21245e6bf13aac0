"""What verl samples behind and what it trains on, seen from inside of a run; its processes load this.

It subclasses our parts that verl is told by name, and changes nothing that they do.
"""

# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false

import json
import os
from pathlib import Path
from typing import Any

import transfer_queue as tq

from training.rl.verl.agent_loop import EpisodeLoop
from training.rl.verl.filling import FilledBatches

__all__ = ["SeenBatches", "SeenLoop"]

_FIELDS = ("prompts", "responses", "response_mask", "rm_scores", "rollout_log_probs")


def _note(file: Path, row: object) -> None:
    with file.open("ab", buffering=0) as lines:
        lines.write(json.dumps(row).encode() + b"\n")


class SeenBatches(FilledBatches):
    """Notes the tensors of each batch, as verl reads them."""

    def __init__(self, *, sampler_kwargs: Any, **kwargs: Any) -> None:
        super().__init__(sampler_kwargs=sampler_kwargs, **kwargs)
        self._file = Path(sampler_kwargs.plan).with_name("batches.jsonl")

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> Any:
        """Sample, and note it."""
        batch, figures = super().sample(global_steps, partition_id, batch_size)
        if partition_id == "train":
            keys = [*batch.keys]
            found = tq.kv_batch_get(keys=keys, partition_id=partition_id, select_fields=[*_FIELDS])
            columns = {name: [each.tolist() for each in found[name].unbind()] for name in _FIELDS}
            rows = [
                {"key": key, **{name: columns[name][at] for name in _FIELDS}}
                for at, key in enumerate(keys)
            ]
            _note(self._file, {"step": global_steps, "rows": rows})
        return batch, figures


class SeenLoop(EpisodeLoop):
    """Notes behind which tokens each turn is sampled."""

    def __init__(self, *args: Any, plan: str, **kwargs: Any) -> None:
        super().__init__(*args, plan=plan, **kwargs)
        self._file = Path(plan).with_name(f"contexts-{os.getpid()}.jsonl")

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> Any:
        """Play, and note it."""
        self.server_manager = _SeenServers(self.server_manager)
        output = await super().run(sampling_params, **kwargs)
        asked = kwargs["extra_info"]
        episode = {
            "split": asked["split"],
            "key": f"{kwargs['uid']}_{kwargs['session_id']}_0",
            "group": int(asked["place"]),
            "contexts": self.server_manager.contexts,
        }
        _note(self._file, episode)
        return output


class _SeenServers:
    def __init__(self, servers: Any) -> None:
        self._servers = servers
        self.contexts: list[list[int]] = []

    async def generate(self, request: str, *, prompt_ids: list[int], **kwargs: Any) -> Any:
        self.contexts.append(prompt_ids)
        return await self._servers.generate(request, prompt_ids=prompt_ids, **kwargs)
