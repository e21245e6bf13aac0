"""An MCP server over standard input and output, for one environment, of the standard library alone.

Stands in an archive beside ``environment.json`` and ``tools.py``. Speaks the handshake versions of MCP and
2026-07-28; keeps one state. Clock and random numbers are virtual, so that the same calls have the same
results on every day. There is no sandbox: the tools have the rights of whoever starts this.
"""

import difflib
import hashlib
import importlib
import io
import json
import math
import os
import random
import re
import sys
import time
import types
import uuid
from pathlib import Path
from typing import Any, cast

SECOND = 1_000_000_000
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The newest first, which answers a client that asks for another one."""
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
MAX_BYTES = 1 << 20
MAX_DEPTH = 100
MAX_MESSAGE = 2000
INTEGERS = range(-(2**63), 2**64)
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
UNSUPPORTED_VERSION = -32022
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
Json = dict[str, Any]


class RefusedError(Exception):
    """A request is answered by an error of JSON-RPC."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(code, message, data)
        self.error: Json = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


class NotJsonError(Exception):
    """A tool returned what JSON cannot carry."""


# --- a virtual world ------------------------------------------------------------------------------


class World:
    """The clock in nanoseconds since 1970, and what random numbers come from."""

    now = 0
    start = 0
    seed = b""
    draws = 0
    generators = 0


def begin(world: Json) -> None:
    """Start a world."""
    World.now = World.start = world["clock"]
    World.seed = str(world["seed"]).encode()
    World.draws = World.generators = 0
    random.seed(number_of("random", 0))


def digest(purpose: str, number: int) -> bytes:
    """Give bytes that follow from the world's seed."""
    return hashlib.sha256(b"%b/%b/%d" % (World.seed, purpose.encode(), number)).digest()


def number_of(purpose: str, number: int) -> int:
    """Give a number that follows from the world's seed."""
    return int.from_bytes(digest(purpose, number)[:8], "big")


def entropy(size: int, /) -> bytes:
    """Stand for the entropy of the system."""
    drawn = bytearray()
    while len(drawn) < size:
        World.draws += 1
        drawn += digest("entropy", World.draws)
    return bytes(drawn[:size])


def install_world() -> None:
    """Put virtual clocks and random numbers in the place of the real ones."""
    install_clocks()
    # Of its two implementations, the one in Python asks the module ``time``, which is virtual by now.
    for name in ("datetime", "_strptime"):
        sys.modules.pop(name, None)
    cast("Json", sys.modules)["_datetime"] = None
    importlib.import_module("datetime")
    os.urandom = entropy
    random.__dict__["_urandom"] = entropy
    uuid.__dict__.update(_node=0x020000000001, _generate_time_safe=None, _UuidCreate=None)
    seed = random.Random.seed

    def seed_from_world(self: random.Random, a: Any = None, version: int = 2) -> None:
        if a is None:
            World.generators += 1
            a = number_of("generator", World.generators)
        seed(self, a, version)

    setattr(random.Random, "seed", seed_from_world)  # noqa: B010 - for type checkers
    random.seed = types.MethodType(seed_from_world, random.__dict__["_inst"])


def install_clocks() -> None:
    """Replace the functions of ``time``; the time zone is UTC."""
    gmtime, strftime, asctime = time.gmtime, time.strftime, time.asctime

    def seconds(*_: object) -> float:
        return World.now / SECOND

    def elapsed() -> float:
        return (World.now - World.start) / SECOND

    def calendar(moment: float | None = None) -> time.struct_time:
        return gmtime(seconds() if moment is None else moment)

    def sleep(duration: float, /) -> None:
        World.now += int(duration * SECOND)

    def written(moment: float | None = None) -> str:
        return asctime(calendar(moment))

    def tuple_written(moment: time.struct_time | None = None) -> str:
        return asctime(moment or calendar())

    def formatted(form: str, moment: time.struct_time | None = None) -> str:
        return strftime(form, moment or calendar())

    replaced: Json = {
        "time": seconds,
        "time_ns": lambda: World.now,
        "sleep": sleep,
        "localtime": calendar,
        "gmtime": calendar,
        "ctime": written,
        "asctime": tuple_written,
        "strftime": formatted,
    }
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        replaced[name] = elapsed
        replaced[f"{name}_ns"] = lambda: World.now - World.start
    for name, function in replaced.items():
        setattr(time, name, function)


# --- arguments ------------------------------------------------------------------------------------


def faults_of(schema: Json, arguments: Json) -> list[str]:
    """Say what is wrong with arguments; of their values, what can be said without their parts."""
    properties: Json = schema["properties"]
    known = ", ".join(properties) or "none"
    faults: list[str] = []
    for name in arguments.keys() - properties.keys():
        close = difflib.get_close_matches(name[:60], properties, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        faults.append(f"unknown argument {name[:60]!r}; {hint}known arguments: {known}")
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    for name in missing:
        wanted = describe_schema(properties.get(name))
        faults.append(f"argument {name!r} is required{wanted}")
    for name, value in arguments.items():
        fault = fault_of_value(properties.get(name, {}), value)
        if fault:
            faults.append(f"argument {name!r} {fault}")
    return faults[:8]


def describe_schema(schema: Json | None) -> str:
    """Say what a missing argument should be."""
    words = [schema["type"]] if schema and isinstance(schema.get("type"), str) else []
    if schema and "enum" in schema:
        words.append("one of " + shown_all(schema["enum"]))
    return f" ({', '.join(words)})" if words else ""


def fault_of_value(schema: Json, value: Any) -> str | None:
    """Say what is wrong with a value; None where nothing is."""
    wanted = schema.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if wanted and not any(has_type(value, each) for each in wanted):
        return f"must be of type {' or '.join(wanted)}; got {shown(value)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"must be one of {shown_all(schema['enum'])}; got {shown(value)}"
    if isinstance(value, str):
        return fault_of_text(schema, value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value < schema.get("minimum", value):
            return f"must be at least {schema['minimum']}; got {shown(value)}"
        if value > schema.get("maximum", value):
            return f"must be at most {schema['maximum']}; got {shown(value)}"
    return None


def has_type(value: Any, name: str) -> bool:
    """Tell whether a value is of a JSON type; 1.0 is an integer, and true is no number."""
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES.get(name, ()))


def fault_of_text(schema: Json, text: str) -> str | None:
    """Say what is wrong with a text."""
    if not schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", len(text)):
        return f"has {len(text)} characters, which is too few or too many"
    if "pattern" in schema and re.search(schema["pattern"], text) is None:
        return f"must match {schema['pattern']}; got {shown(text)}"
    return None


def shown(value: Any) -> str:
    """Write a value in at most 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def shown_all(values: list[Any]) -> str:
    """Write the first twelve values."""
    return ", ".join(map(shown, values[:12])) + (", ..." if len(values) > 12 else "")


# --- results --------------------------------------------------------------------------------------


def checked(value: Any, depth: int = 0) -> None:
    """Refuse what JSON cannot carry."""
    if depth > MAX_DEPTH:
        raise NotJsonError(f"the result is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        for key, item in cast("dict[Any, Any]", value).items():
            if not isinstance(key, str):
                raise NotJsonError(f"the result has a key of type {type(key).__name__}, not str")
            checked(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in cast("list[Any]", value):
            checked(item, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise NotJsonError("the result holds NaN or an infinite number")
    elif isinstance(value, int) and value not in INTEGERS:
        raise NotJsonError("the result holds an integer of more than 64 bits")
    elif not isinstance(value, str | bool | int | float | None):
        raise NotJsonError(f"the result holds a {type(value).__name__}, which is not JSON")


def text_of(value: Any) -> str:
    """Write a result as a client shows it."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise NotJsonError("a string in the result is not valid Unicode") from None
    if size > MAX_BYTES:
        raise NotJsonError(f"the result is larger than {MAX_BYTES:,} bytes; ask for less at once")
    return text


def text_result(text: str, *, is_error: bool) -> Json:
    """Make the result of a call."""
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def error_text(error: BaseException) -> str:
    """Name an error and say its message."""
    if isinstance(error, NotJsonError):
        return f"NotJson: {error}"
    # str(KeyError("no such order")) would add quotation marks
    told = error.args[0] if isinstance(error, KeyError) and error.args else error
    try:
        message = str(told)[:MAX_MESSAGE]
    except Exception as second:  # noqa: BLE001 - __str__ is the tool's own code
        message = f"(its message raised {type(second).__name__})"
    kind = type(error).__name__[:100]
    return f"{kind}: {message}" if message else kind


# --- the server -----------------------------------------------------------------------------------


class Server:
    """One environment and its state."""

    def __init__(self, folder: Path) -> None:
        self.about: Json = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
        self.tools: dict[str, Json] = {tool["name"]: tool for tool in self.about["tools"]}
        begin(self.about["load"])
        self.module = types.ModuleType("tools")
        sys.modules["tools"] = self.module
        source = (folder / "tools.py").read_text(encoding="utf-8")
        exec(compile(source, "tools.py", "exec", dont_inherit=True), self.module.__dict__)  # noqa: S102
        begin(self.about["session"])

    def answer(self, message: Any) -> Json | None:
        """Answer a message; None where it is no request."""
        asked = as_object(message)
        if asked.get("jsonrpc") != "2.0":
            return error_answer(None, RefusedError(INVALID_REQUEST, "no JSON-RPC message"))
        if "method" not in asked or "id" not in asked:
            return None
        number = asked["id"]
        try:
            result = self.respond(asked["method"], as_object(asked.get("params")))
        except RefusedError as refused:
            return error_answer(number, refused)
        return {"jsonrpc": "2.0", "id": number, "result": result}

    def respond(self, method: str, params: Json) -> Json:
        """Give the result of a request of either era."""
        version = as_object(params.get("_meta")).get(f"{META}protocolVersion")
        if version is None:
            return self.respond_to_session(method, params)
        if version != MODERN:
            data = {"supported": [MODERN], "requested": version}
            raise RefusedError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        result = self.respond_to_plain(method, params)
        return {**result, "resultType": "complete", "_meta": {f"{META}serverInfo": self.info}}

    @property
    def info(self) -> Json:
        """What it calls itself."""
        return {"name": self.about["name"], "version": self.about["version"]}

    @property
    def hello(self) -> Json:
        """What both eras are told first."""
        capabilities = {"tools": {"listChanged": False}}
        return {"capabilities": capabilities, "instructions": self.about["instructions"]}

    def respond_to_session(self, method: str, params: Json) -> Json:
        """Answer a client that opened with a handshake."""
        match method:
            case "initialize":
                asked = params.get("protocolVersion")
                version = asked if asked in HANDSHAKE else HANDSHAKE[0]
                return {**self.hello, "protocolVersion": version, "serverInfo": self.info}
            case "ping":
                return {}
            case "tools/list":
                return {"tools": self.about["tools"]}
            case "tools/call":
                return self.call(params)
            case _:
                raise RefusedError(NO_METHOD, "Method not found", method)

    def respond_to_plain(self, method: str, params: Json) -> Json:
        """Answer a request of the era without sessions."""
        private = {"cacheScope": "private", "ttlMs": 0}
        match method:
            case "server/discover":
                return {**self.hello, **private, "supportedVersions": [MODERN]}
            case "tools/list":
                return {"tools": self.about["tools"], **private}
            case "tools/call":
                return self.call(params)
            case _:
                raise RefusedError(NO_METHOD, "Method not found", method)

    def call(self, params: Json) -> Json:
        """Call a tool; what it raises is its result."""
        name, given = params.get("name"), params.get("arguments")
        arguments = as_object(given)
        if not isinstance(name, str) or not isinstance(given, dict | None):
            raise RefusedError(INVALID_PARAMS, "Invalid request parameters")
        if name not in self.tools:
            names = ", ".join(self.tools)
            words = f"no tool is named {name!r}; available tools: {names}"
            raise RefusedError(INVALID_PARAMS, words)
        faults = faults_of(self.tools[name]["inputSchema"], arguments)
        if faults:
            lines = "\n".join(f"- {fault}" for fault in faults)
            return text_result(f"Invalid arguments for {name}:\n{lines}", is_error=True)
        World.now += SECOND
        try:
            value = self.module.__dict__[name](**arguments)
            checked(value)
            result = text_result(text_of(value), is_error=False)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool's error is its answer
            return text_result(error_text(error), is_error=True)
        if "outputSchema" in self.tools[name] and isinstance(value, dict):
            result["structuredContent"] = value
        return result


def as_object(value: Any) -> Json:
    """Give an object as it is, and anything else as an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def error_answer(number: object, refused: RefusedError) -> Json:
    """Answer by an error of JSON-RPC."""
    return {"jsonrpc": "2.0", "id": number, "error": refused.error}


def main() -> None:
    """Answer line by line until the input ends; what tools print goes nowhere."""
    reading = os.fdopen(os.dup(0), "rb")
    writing = os.fdopen(os.dup(1), "wb")
    sys.stdin, sys.stdout = io.StringIO(), io.StringIO()
    install_world()
    server = Server(Path(__file__).resolve().parent)
    for line in reading:
        if not line.strip():
            continue
        try:
            answer = server.answer(json.loads(line))
        except ValueError as error:
            answer = error_answer(None, RefusedError(PARSE_ERROR, f"no JSON: {error}"))
        sys.stdout.seek(0)
        sys.stdout.truncate()
        if answer is not None:
            writing.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
            writing.flush()


if __name__ == "__main__":
    main()
