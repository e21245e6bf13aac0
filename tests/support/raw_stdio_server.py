"""A server of MCP over stdio without any library, which does on request what servers should not.

Run as a script: ``raw_stdio_server.py [handshake] [modern]`` names the eras that it speaks (both by default).
With ``brittle`` it stops at a method that it does not know, and ends once it is asked to initialize.
Every call is a line of the file that ``CALLS`` names, written before it is answered.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MODERN = "2026-07-28"
ERAS = sys.argv[1:] or ["handshake", "modern"]
STATE = {"count": 0, "asked": 0, "tools": 1, "id": 0}
SCHEMA = {"type": "object"}
HINTS: dict[str, Any] = json.loads(os.environ.get("HINTS", "{}"))
"""Annotations of tools, by their names."""
WAITING: list[str] = []
"""Requests that came while an answer of the client was awaited."""


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value: object, **members: object) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": str(value)}], "resultType": "complete", **members}


def write_down(what: str) -> None:
    with Path(os.environ.get("CALLS", os.devnull)).open("a") as calls:
        calls.write(what + "\n")


def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
    STATE["asked"] += 1
    number = f"ask-{STATE['asked']}"
    send({"id": number, "method": method, "params": params})
    while line := sys.stdin.readline():
        message = json.loads(line)
        if message.get("id") == number:
            return message
        WAITING.append(line)
    return {}


def count(_: dict[str, Any], __: dict[str, Any]) -> dict[str, Any]:
    STATE["count"] += 1
    return text(STATE["count"])


def die(_: dict[str, Any], __: dict[str, Any]) -> dict[str, Any]:
    sys.stderr.write("out of luck\n")
    os._exit(3)


def hang(_: dict[str, Any], __: dict[str, Any]) -> dict[str, Any]:
    while line := sys.stdin.readline():
        if json.loads(line).get("method") == "notifications/cancelled":
            write_down("cancelled")
            return text("cancelled")
    return {}


def garbage(arguments: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
    for number in range(arguments.get("lines", 3)):
        sys.stdout.write(f"this is no JSON {number}\n")
    return text("clean")


def progress(_: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    token = params["_meta"]["progressToken"]
    for step in range(3):
        body = {"progressToken": token, "progress": step}
        send({"method": "notifications/progress", "params": body})
    send({"method": "notifications/message", "params": {"level": "info", "data": "half way"}})
    return text("done")


def sample(arguments: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
    """Ask the client, once ``behind`` further calls are under way."""
    while sum('"tools/call"' in line for line in WAITING) < arguments.get("behind", 0):
        WAITING.append(sys.stdin.readline())
    return text(json.dumps(ask("sampling/createMessage", {"n": arguments.get("n")})))


def need(arguments: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """Ask as the modern era does; ``rounds`` times."""
    state = int(params.get("requestState", 0))
    if state >= arguments.get("rounds", 1):
        return text(json.dumps(params.get("inputResponses")))
    request = {"method": "elicitation/create", "params": {"message": f"round {state}"}}
    return {
        "resultType": "input_required",
        "inputRequests": {"who": request},
        "requestState": str(state + 1),
    }


def spawn(_: dict[str, Any], __: dict[str, Any]) -> dict[str, Any]:
    child = subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL)
    return text(child.pid)


def grow(_: dict[str, Any], __: dict[str, Any]) -> dict[str, Any]:
    STATE["tools"] += 1
    send({"method": "notifications/tools/list_changed"})
    send({"method": "notifications/resources/updated", "params": {"uri": "x://y"}})
    return text("grown")


def sleep(arguments: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
    time.sleep(arguments["seconds"])
    return text("slept")


def give_up(arguments: dict[str, Any], _: dict[str, Any]) -> dict[str, Any] | None:
    """Wait until the call is cancelled; answer it all the same, or never."""
    while '"notifications/cancelled"' not in (line := sys.stdin.readline()):
        WAITING.append(line)
    write_down("given up")
    return text("late") if arguments.get("answers") else None


def chat(_: dict[str, Any], __: dict[str, Any]) -> dict[str, Any]:
    """Say something between two calls that are under way."""
    while not any('"tools/call"' in line for line in WAITING):
        WAITING.append(sys.stdin.readline())
    send({"method": "notifications/message", "params": {"level": "info", "data": "private"}})
    return text("said")


def odd(arguments: dict[str, Any], _: dict[str, Any]) -> None:
    """Answer in the words of the test."""
    for line in arguments["lines"]:
        sys.stdout.write(line.replace("<id>", str(STATE["id"])) + "\n")
    sys.stdout.flush()


def close_output(_: dict[str, Any], __: dict[str, Any]) -> None:
    """Live on without an output."""
    os.close(1)
    time.sleep(300)


def mutter(arguments: dict[str, Any], _: dict[str, Any]) -> None:
    """Write to standard error, in parts, and end."""
    for part in arguments["parts"]:
        sys.stderr.buffer.write(bytes.fromhex(part))
        sys.stderr.flush()
        time.sleep(0.05)
    os._exit(3)


def flicker(arguments: dict[str, Any], _: dict[str, Any]) -> dict[str, Any]:
    """Die at the first so many times that it is called, in whatever process."""
    times = Path(os.environ["CALLS"]).read_text().splitlines().count("flicker")
    if times <= arguments["deaths"]:
        os._exit(3)
    return text(f"seen at the call {times}")


def show(arguments: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """Answer what arrived: the params, the process, a variable of the environment."""
    variable = os.environ.get(arguments.get("variable", ""))
    return text(json.dumps(params), structuredContent={"pid": os.getpid(), "variable": variable})


def refuse(_: dict[str, Any], __: dict[str, Any]) -> dict[str, Any]:
    raise LookupError


TOOLS = {
    f.__name__: f
    for f in (count, die, hang, garbage, progress, sample, need, spawn, grow, sleep, show, refuse)
}
UNLISTED = {f.__name__: f for f in (give_up, chat, odd, close_output, mutter, flicker)}


def initialize(params: dict[str, Any]) -> dict[str, Any]:
    return {
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {"listChanged": True}, "logging": {}},
        "serverInfo": {"name": "raw", "version": "1"},
        "instructions": f"the client can {sorted(params['capabilities'])}",
    }


def discover(_: dict[str, Any]) -> dict[str, Any]:
    return {
        "supportedVersions": [MODERN],
        "capabilities": {"tools": {}},
        "instructions": "modern",
        "resultType": "complete",
    }


def list_tools(params: dict[str, Any]) -> dict[str, Any]:
    """One tool a page, and further ones that only grew."""
    names = [
        *TOOLS,
        *(n for n in HINTS if n not in TOOLS),
        *(f"grown_{n}" for n in range(1, STATE["tools"])),
    ]
    place = int(params.get("cursor", 0))
    tool = {"name": names[place], "inputSchema": SCHEMA, "title": "T"}
    if names[place] in HINTS:
        tool["annotations"] = HINTS[names[place]]
    page: dict[str, Any] = {"tools": [tool]}
    if place + 1 < len(names):
        page["nextCursor"] = str(place + 1)
    return page


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize" and "handshake" in ERAS:
        return initialize(params)
    if method == "server/discover" and "modern" in ERAS:
        return discover(params)
    if method == "tools/list":
        return list_tools(params)
    if method == "logging/setLevel":
        return {}
    if method in ("resources/subscribe", "resources/unsubscribe") and "handshake" in ERAS:
        write_down(f"{method} {params['uri']}")
        return {}
    if method == "tools/call":
        write_down(params["name"])
        return (TOOLS | UNLISTED)[params["name"]](params.get("arguments", {}), params)
    raise LookupError


def main() -> None:
    if os.environ.get("DIE_AT_START"):
        sys.stderr.write("no licence\n")
        sys.exit(4)
    while line := WAITING.pop(0) if WAITING else sys.stdin.readline():
        message = json.loads(line)
        if "method" not in message or "id" not in message:
            continue
        STATE["id"] = message["id"]
        try:
            result = answer(message["method"], message.get("params", {}))
        except LookupError:
            if "brittle" in ERAS:
                while '"initialize"' not in sys.stdin.readline():
                    pass
                sys.exit(5)
            error = {"code": -32601, "message": "no such method", "data": {"why": "raw"}}
            send({"id": message["id"], "error": error})
        else:
            if result is not None:
                send({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
