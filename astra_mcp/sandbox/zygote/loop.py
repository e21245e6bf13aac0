"""The loop of a tool's process: load a module, then answer calls, one at a time.

The same loop runs locked (as a template, and as the sessions that branch from it) and unsandboxed. Its
replies are data from an untrusted process: the host checks their size and shape.
"""

import errno
import gc
import io
import os
import signal
import socket
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Self

from astra_mcp.sandbox.zygote import determinism
from astra_mcp.sandbox.zygote import frames as wire
from astra_mcp.sandbox.zygote.imports import TOOL_MODULE, install_guard, withdraw_system
from astra_mcp.sandbox.zygote.settings import Settings
from astra_mcp.sandbox.zygote.values import (
    NotJsonError,
    Output,
    ResultTooLargeError,
    describe,
    encode_value,
)

__all__ = ["ToolProcess"]

_FILE_NAME = "tools.py"
_NOISE = 6000
"""Objects that another layout begins with: some hundred of every size that the interpreter pools."""


_SIZES = (*range(16, 513, 16), 1024, 2048, 4096, 8192)
"""Of the blocks that the interpreter pools, and of some larger ones."""
_BYTES_HEAD = b"".__sizeof__()
_SMALL, _LARGE = 128, 512
"""Up to which size there is much, and above which there is little to hold."""
_NUM_LARGE = 4


class _SoftTimeoutError(BaseException):
    """Interrupts a call from inside; not an Exception, so that few tools catch it by mistake."""


class ToolProcess:
    """One process of tool code and its socket to the host."""

    def __init__(
        self,
        channel: socket.socket,
        settings: Settings,
        *,
        join: Callable[[int], None] | None = None,
    ) -> None:
        self._channel = channel
        self._settings = settings
        self._join = join
        """Puts a session's own channel in the place of its template's; None where nothing branches."""
        # Held here, where tool code does not reach: what modules offer is withdrawn from it.
        self._exit, self._fork, self._set_timer = os._exit, os.fork, signal.setitimer
        self._collect, self._freeze = gc.collect, gc.freeze
        self._is_settled = False
        self._noise: list[object] = []
        """What lies in memory between the objects of the tools; nothing that they reach refers to it."""
        self._held = [_places(100, 100), _places(48, 8)]
        """What a template and then a session holds: of each size, the blocks that were freed last."""
        self._module = types.ModuleType(TOOL_MODULE)
        self._output = Output(settings.output_bytes)
        self._armed = False
        self._ahead = bytearray()
        """What came after the last message."""
        self._is_branch = False
        """True in a session that came of a template."""

    def greet(self) -> Self:
        """Tell the host that the process is up; a locked one is announced by the fork server."""
        self._channel.sendall(wire.encode({"status": "up"}))
        return self

    def run(self) -> NoReturn:
        """Answer the host until it closes its end; never returns, no exit handler runs."""
        code = 1
        try:
            self._settle()
            self._prepare()
            while True:
                if not self._is_settled:
                    self._settle()
                self._answer()
        except EOFError:
            code = 0
        finally:
            self._exit(code)

    def _prepare(self) -> None:
        sys.stdin = io.StringIO()
        sys.stdout = sys.stderr = self._output
        sys.modules[TOOL_MODULE] = self._module
        signal.signal(signal.SIGPROF, self._on_alarm)
        if self._settings.import_guard:
            install_guard()
            withdraw_system(self._module)

    def _answer(self) -> None:
        packed, body = wire.receive_ahead(self._channel, self._ahead)
        if not packed:
            self._channel.sendall(self._call(*wire.decode(body)))
            return
        head = wire.decode(packed)
        match head["op"]:
            case "load":
                reply = self._load(head, body)
            case "branch" if self._join is not None:
                self._branch(self._join)
                return
            case _:
                determinism.begin(head["seed"], head["clock"])
                self._is_settled = not self._is_branch
                reply = wire.encode({"status": "ready"})
        self._channel.sendall(reply)

    def _load(self, head: Mapping[str, Any], source: bytes) -> bytes:
        determinism.begin(head["seed"], head["clock"])
        self._lay_out(head["layout"])
        try:
            code = compile(source, _FILE_NAME, "exec", dont_inherit=True)
            exec(code, self._module.__dict__)  # noqa: S102 - the purpose of this process
        except BaseException as error:  # noqa: BLE001 - whatever the module raises is reported
            kind, message = describe(error)
            if isinstance(error, SyntaxError):
                message = error.msg
            return wire.encode(
                {"status": "failed", "kind": kind, "message": message, "line": _line(error)}
            )
        self._output.take()
        # Sessions share these objects with the template until one of them writes to the page.
        self._collect()
        self._freeze()
        return wire.encode({"status": "loaded"})

    def _lay_out(self, layout: int) -> None:
        """Begin with other memory in use, with holes, so that what follows lies elsewhere."""
        noise = [bytes(n % 480) if n % 2 else object() for n in range(layout * _NOISE)]
        del noise[::5]
        self._noise += noise

    def _settle(self) -> None:
        """Forget in which order memory was freed until now, which tells what this process did before."""
        self._is_settled = True
        self._collect()
        held, size = self._held[self._is_branch], 0
        while size < len(
            _SIZES
        ):  # makes nothing but the blocks: what it freed would lie before the rest
            block = 0
            while block < len(held[size]):
                held[size][block] = _block(_SIZES[size])
                block += 1
            size += 1

    def _branch(self, join: Callable[[int], None]) -> None:
        """Fork sessions from now on: the host lets a clone through, and gives what comes of it a channel.

        Until then the call waits, which spares the host a message and this process a step.
        """
        while not self._is_branch:
            try:
                self._is_branch = not self._fork()
            except OSError as error:
                join(error.errno or errno.EAGAIN)
        join(0)

    def _call(self, call: str, function: str, arguments: dict[str, Any]) -> bytes:
        determinism.advance()
        head: dict[str, object] = {"status": "returned"}
        body = b""
        try:
            body = self._invoke(function, arguments)
        except _SoftTimeoutError:
            seconds = f"{self._settings.soft_seconds:g}"
            message = f"the tool used more than {seconds} s of processor time"
            head = {"status": "interrupted", "kind": "Timeout", "message": message}
        except NotJsonError as error:
            head = {"status": "raised", "kind": "NotJson", "message": str(error)}
        except ResultTooLargeError as error:
            head = {"status": "raised", "kind": "ResultTooLarge", "message": str(error)}
        except BaseException as error:  # noqa: BLE001 - a tool's error is its answer
            kind, message = describe(error)
            head = {"status": "raised", "kind": kind, "message": message}
        output = self._output.take()
        if body and not output:  # as nearly always
            return wire.join(wire.RETURNED % call.encode(), body)
        head["output"] = output
        head["call"] = call
        return wire.encode(head, body)

    def _invoke(self, function: str, arguments: dict[str, Any]) -> bytes:
        tool = self._module.__dict__.get(function)
        if function.startswith("_") or not isinstance(tool, types.FunctionType):
            raise NameError(f"the module has no function {function!r}")
        self._armed = True
        # Not wall time: what a call answers must not depend on how busy the machine is.
        self._set_timer(signal.ITIMER_PROF, self._settings.soft_seconds)
        try:
            return encode_value(tool(**arguments), self._settings.result_bytes)
        finally:
            self._armed = (
                False  # the next call sets the timer anew; one that ends before finds this
            )

    def _on_alarm(self, _number: int, _frame: types.FrameType | None) -> None:
        if self._armed:
            raise _SoftTimeoutError


def _places(many: int, some: int) -> list[list[object]]:
    """Room for blocks of each size, more than were in use by what went before."""
    counts = (many if n <= _SMALL else some if n <= _LARGE else _NUM_LARGE for n in _SIZES)
    return [[None] * count for count in counts]


def _block(size: int) -> object:
    if size == _SIZES[0]:
        return object()
    return float(size) if size == _SIZES[1] else bytes(size - _BYTES_HEAD)


def _line(error: BaseException) -> int | None:
    """Line of the module where the error was raised, or where it does not parse."""
    if isinstance(error, SyntaxError) and error.filename == _FILE_NAME:
        return error.lineno
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILE_NAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
