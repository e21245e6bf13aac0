"""Takes every right away from a process, in the order in which the kernel accepts it.

``Lockdown`` is built once, while files can still be read; its steps are a few system calls each, so that
a fresh process is locked before the first untrusted byte. Which layers are required is decided here: a
step that fails raises :class:`LayerMissingError`, except landlock, whose absence is reported.
"""

import os
import platform
import resource
from collections.abc import Callable
from typing import TypeVar

from astra_mcp.sandbox.zygote.kernel import Kernel
from astra_mcp.sandbox.zygote.seccomp import gate_filter, server_filter, tool_filter
from astra_mcp.sandbox.zygote.settings import Settings
from astra_mcp.sandbox.zygote.syscalls import TABLES

__all__ = ["LayerMissingError", "Lockdown", "drop_root", "limit_resources"]

Result = TypeVar("Result")

_NOBODY = 65534
"""User and group that root becomes."""
_STACK_BYTES = 8 << 20
_OPEN_FILES = 8
_DESCRIPTORS = 64
"""More than the fork server ever holds."""
_RESERVED_PROCESSES = 256
"""Of a user's, left to hosts, whose threads count as well; of a low limit a quarter."""


class LayerMissingError(Exception):
    """The kernel refused a required layer."""

    def __init__(self, layer: str, reason: str) -> None:
        super().__init__(f"{layer}: {reason}")
        self.layer = layer


class Lockdown:
    """Everything that the steps need, prepared."""

    def __init__(self) -> None:
        architecture = TABLES.get(platform.machine())
        if architecture is None:
            raise LayerMissingError("seccomp", "no table of system calls for this processor")
        self._kernel = Kernel()
        self._ruleset = self._kernel.create_ruleset()
        self._server_filter = server_filter(architecture)
        self._gate_filter = gate_filter(architecture)
        self._tool_filter = tool_filter(architecture)
        self._seccomp_number = architecture.numbers["seccomp"]
        self._join_number = architecture.numbers["dup"]

    @property
    def landlock_abi(self) -> int:
        """Version of landlock; 0 where it is missing."""
        return self._ruleset.abi if self._ruleset else 0

    def enter_server(self) -> dict[str, int]:
        """Lock the fork server: from here on it can fork, and open, connect or execute nothing.

        Returns:
            What differs between machines, for the host.
        """
        self._kernel.adopt_orphans()
        _require("small pages", self._kernel.forgo_huge_pages)
        self.give_up_new_privileges()
        self.restrict()
        _require("rlimits", leave_processes_to_hosts)
        _require("privilege drop", drop_root)
        self._kernel.hide_memory()
        _require("seccomp", lambda: self._kernel.install_filter(self._server_filter))
        return {"landlock_abi": self.landlock_abi, "uid": os.getuid()}

    def open_gate(self) -> int:
        """Have the host asked about each fork; returns the descriptor on which its questions arrive."""
        return _require(
            "seccomp",
            lambda: self._kernel.install_filter_with_listener(
                self._gate_filter, self._seccomp_number
            ),
        )

    def enter_tool(self, settings: Settings, *, channel: int) -> None:
        """Lock a process for tool code, with no descriptor but ``channel``."""
        self.restrict()
        os.closerange(0, channel)
        os.closerange(channel + 1, _DESCRIPTORS)
        _require("rlimits", lambda: limit_resources(settings))
        self.filter_tool()

    def give_up_new_privileges(self) -> None:
        """Set no_new_privs."""
        _require("no_new_privs", self._kernel.give_up_new_privileges)

    def filter_tool(self) -> None:
        """Install the filter of tool code."""
        _require("seccomp", lambda: self._kernel.install_filter(self._tool_filter))

    def restrict(self) -> None:
        """Enter a landlock domain without any right, where the kernel has landlock."""
        ruleset = self._ruleset
        if ruleset is not None:
            _require("landlock", lambda: self._kernel.restrict(ruleset))

    def die_with_parent(self) -> None:
        """Have the kernel kill this process when its parent ends."""
        self._kernel.die_with_parent()

    def join(self, fault: int) -> None:
        """After a fork, have the host put a channel in the place of the template's, and die with the parent.

        Args:
            fault: 0 in the process that came of the fork; in the template, why there is none.
        """
        self._kernel.call_host(self._join_number, fault)
        if not fault:
            self.die_with_parent()


def drop_root() -> None:
    """Become nobody without groups and capabilities, when started as root."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)


def leave_processes_to_hosts() -> None:
    """Have forks fail here before the user's hosts can start no thread any more: that would end them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if soft != resource.RLIM_INFINITY:
        left = soft - min(_RESERVED_PROCESSES, soft // 4)
        resource.setrlimit(resource.RLIMIT_NPROC, (left, hard))


def limit_resources(settings: Settings) -> None:
    """Set the limits of a tool process, soft and hard, so that it cannot raise them."""
    for kind, bound in (
        (resource.RLIMIT_AS, settings.memory_bytes),
        (resource.RLIMIT_STACK, _STACK_BYTES),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        lowered = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (lowered, lowered))
    # The soft limit's signal can be caught, the kill one second later cannot.
    resource.setrlimit(resource.RLIMIT_CPU, (settings.cpu_seconds, settings.cpu_seconds + 1))


def _require(layer: str, step: Callable[[], Result]) -> Result:
    try:
        return step()
    except (OSError, ValueError) as error:
        raise LayerMissingError(layer, str(error)) from error
