"""A CPU as one of verl's platforms."""

# What verl says of its types is not what its platforms give.
# pyright: reportIncompatibleMethodOverride=false
# pyright: reportUnknownLambdaType=false, reportUntypedClassDecorator=false
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUntypedFunctionDecorator=false, reportUnknownArgumentType=false

import contextlib
import os
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry

__all__ = ["CpuPlatform"]

_CPU = "cpu"
_NUMBERS = (
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
)
_NOTHING = (
    "empty_cache",
    "ipc_collect",
    "manual_seed",
    "manual_seed_all",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "set_device",
)


class _CpuModule(ModuleType):
    """``torch.cpu``, with what verl asks of ``torch.cuda`` beside it: a CPU has no memory of its own."""

    def __getattr__(self, name: str) -> Any:
        if name in _NUMBERS:
            return lambda *_args, **_kwargs: 0
        if name in _NOTHING:
            return lambda *_args, **_kwargs: None
        told: dict[str, Any] = {
            "mem_get_info": lambda *_args: (0, 0),
            "get_rng_state": torch.get_rng_state,
            "set_rng_state": torch.set_rng_state,
            "current_device": lambda: _CPU,
            "get_device_name": lambda *_args: "CPU",
        }
        return told[name] if name in told else getattr(torch.cpu, name)


_DEVICE = _CpuModule("cpu_as_device")


@PlatformRegistry.register(platform=_CPU)
class CpuPlatform(PlatformBase):
    """One device; Ray counts it as one logical GPU, since verl places its workers by GPUs."""

    @property
    def device_name(self) -> str:
        """Name the kind."""
        return _CPU

    @property
    def vendor_name(self) -> str:
        """Name it again."""
        return _CPU

    @property
    def device_module(self) -> ModuleType:
        """What stands for ``torch.cuda``."""
        return _DEVICE

    def is_available(self) -> bool:
        """There is always a CPU."""
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        """Whether it was asked for."""
        del use_smi_check
        return os.environ.get("VERL_PLATFORM") == _CPU

    def current_device(self) -> str:
        """Name the one device."""
        return _CPU

    def device_count(self) -> int:
        """Count it."""
        return 1

    def set_device(self, device_index: int) -> None:
        """There is one."""
        del device_index

    def synchronize(self, device_index: int | None = None) -> None:
        """Nothing runs beside."""
        del device_index

    def manual_seed(self, seed: int) -> None:
        """Seed PyTorch."""
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed PyTorch."""
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """There are none."""
        del settings

    def empty_cache(self) -> None:
        """Nothing is cached."""

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        """It has none."""
        del device_index
        return (None, None)

    def communication_backend_name(self) -> str:
        """Name gloo, and make its group where verl would fail to."""
        # verl joins this name to one for the CPU, which PyTorch refuses where both are the CPU. It asks right
        # before it makes the group of a worker, unless there is one.
        if "RANK" in os.environ and "MASTER_ADDR" in os.environ and not dist.is_initialized():
            rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
            dist.init_process_group("gloo", rank=rank, world_size=size)
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """Name a variable, as verl wants one."""
        return "CUDA_VISIBLE_DEVICES"

    def nvtx_range(self, msg: str) -> contextlib.AbstractContextManager[None]:
        """Mark nothing."""
        del msg
        return contextlib.nullcontext()

    def profiler_start(self) -> None:
        """There is none."""

    def profiler_stop(self) -> None:
        """There is none."""

    def ray_resource_name(self) -> str:
        """Name what Ray counts."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """There are none."""
        return []

    def ray_resource_options(self, num_gpus: float) -> dict[str, float]:
        """Ask Ray for the logical GPU."""
        return {"num_gpus": num_gpus}

    def is_ipc_supported(self) -> bool:
        """Weights are handed over by Ray."""
        return False

    def cudart(self) -> None:
        """There is none."""
        return
