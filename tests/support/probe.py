"""Tool code that tells whatever it can reach of the process that runs it, with every trick there is.

It asks each clock, generator and process number that it finds; it walks frames, classes, modules and what
they refer to, with their addresses.
"""

from typing import Any

from astra_mcp.environments.bundle import Bundle, EnvironmentDocument

__all__ = ["probing_bundle"]


def probing_bundle(clock: str = "2026-01-05T09:00:00+08:00") -> Bundle:
    """A bundle whose one tool, ``look``, returns a digest and sorted lines in one text.

    One text, since on some machines they are more values than a result may hold.
    """
    tool: dict[str, Any] = {
        "name": "look",
        "description": "Looks.",
        "input_schema": {"type": "object", "properties": {}},
    }
    document: dict[str, Any] = {
        "schema_version": 1,
        "name": "probe",
        "title": "Probe",
        "description": "Looks around.",
        "domain": "travel",
        "language": "en",
        "question": "What is to be seen?",
        "sub_tasks": [{"id": 1, "answer": "nothing", "tool": "look"}],
        "tools": [tool],
        "gold": [{"tool": "look", "solves": [1]}],
        "clock": clock,
        "provenance": {"source": "original"},
    }
    return Bundle(document=EnvironmentDocument.model_validate(document), code=_CODE, server={})


_CODE = r'''
import datetime, hashlib, inspect, logging, queue, random, secrets, time, types, uuid, weakref

_LOADED = [object(), {}, []]
_SPELLED = "f_" + "back", "f_" + "locals", "f_" + "globals", "__clo" + "sure__", "__glo" + "bals__"


def look() -> dict:
    """Everything that is reached, one line each, and its digest."""
    lines = [*_clocks(), *_draws(), *_addresses(), *_frames(), *_walk()]
    return {"digest": hashlib.sha256("\n".join(lines).encode()).hexdigest(), "lines": "\n".join(sorted(lines))}


def _say(name, act):
    try:
        return f"{name}: {act()!r}"
    except Exception as error:
        return f"{name}: {type(error).__name__} {error}"


def _clocks():
    real = [c for k in (datetime.datetime, datetime.date) for c in k.__mro__]
    for kind in real:
        for name in ("now", "utcnow", "today"):
            yield _say(f"{kind.__name__}.{name}", lambda: getattr(kind, name)())
    for name in sorted(vars(time)):
        if callable(getattr(time, name)):
            yield _say(f"time.{name}", getattr(time, name))
            yield _say(f"time.{name} inside", lambda: [c.cell_contents() for c in getattr(time, name).__closure__])
    yield _say("loaded anew", lambda: time.__spec__.loader.create_module(time.__spec__).time())
    yield _say("in the type", lambda: datetime.datetime.__dict__["now"].__func__.__closure__)


def _draws():
    base = random.Random.__mro__[1]
    for make in (random.Random, base, lambda: base.__new__(base), lambda: type("R", (base,), {})()):
        yield _say("generator", lambda: make().random())
    yield _say("again", lambda: base.seed(random._inst) or random.random())
    yield _say("entropy", lambda: [secrets.token_hex(8), str(uuid.uuid1()), str(uuid.uuid4())])


def _addresses():
    fresh = [object() for _ in range(50)] + [[n] for n in range(50)] + [bytes(n * 8) for n in range(60)]
    fresh += [{n: n} for n in range(50)] + [(n, n) for n in range(50)] + [float(n) for n in range(50)]
    fresh += [type("C", (), {})() for _ in range(5)] + [bytes(1 << n) for n in range(22)]
    yield f"addresses {[id(x) for x in fresh]} {[id(x) for x in _LOADED]}"
    yield f"order {list({*map(str, range(99))})} {[hash(x) for x in fresh[:50]]}"


def _frames():
    def generate():
        yield
    running = generate()
    frames = [inspect.currentframe(), running.gi_frame]
    try:
        raise ValueError("x")
    except ValueError as error:
        frames.append(error.__traceback__.tb_frame)
    frames += [_say_frame(n) for n in range(30)]
    for frame in frames:
        while frame is not None:
            yield f"frame {getattr(frame, 'f_code', None)} {getattr(frame, 'f_lineno', None)}"
            for name in _SPELLED[1:3]:
                yield _say(name, lambda: sorted(getattr(frame, name)))
            frame = getattr(frame, _SPELLED[0], None)


def _say_frame(depth):
    try:
        return logging.sys._getframe(depth)
    except ValueError:
        return None


def _walk():
    sys = logging.sys
    kinds, waiting = {object, type}, [object, type]
    while waiting:
        for child in type.__subclasses__(waiting.pop()):
            if child not in kinds:
                kinds.add(child)
                waiting.append(child)
    yield f"classes {sorted(f'{k.__module__}.{k.__qualname__}' for k in kinds)}"
    seen, todo = set(), [*sys.modules.items(), *((f"{k.__module__}.{k.__qualname__}", k) for k in kinds)]
    while todo:
        name, thing = todo.pop()
        if id(thing) in seen or len(name) > 200:
            continue
        seen.add(id(thing))
        yield f"{name} {type(thing).__name__} {id(thing)} {_text(thing)}"
        todo.extend(_members(name, thing))
    for name in ("getpid", "getppid", "times", "cpu_count", "getloadavg", "uname", "getcwd", "getrandom", "getuid"):
        yield _say(name, lambda: repr(getattr(random._os, name)(*[8] * (name == "getrandom"))))
    for module, names in {"_thread": "get_ident get_native_id _count", "gc": "get_count get_objects get_stats",
                          "sys": "getallocatedblocks _current_frames gettrace", "_signal": "getitimer getsignal"}.items():
        for name in names.split():
            yield _say(f"{module}.{name}", lambda: getattr(sys.modules[module], name)(*[2] * (module == "_signal")))
    yield _say("refs", lambda: sys.getrefcount(None))
    yield _say("ctypes", lambda: __import__("ctypes", {}))
    yield _say("socket", lambda: __import__("socket", {}))


def _in_order(things):
    return sorted(things, key=_text) if isinstance(things, (set, frozenset)) else list(things)


def _text(thing):
    try:
        return repr(thing)[:300] if not isinstance(thing, (types.ModuleType,)) else ""
    except Exception as error:
        return type(error).__name__


def _members(name, thing):
    if isinstance(thing, types.ModuleType) or isinstance(thing, type):
        for key in sorted(map(str, vars(thing))):
            yield f"{name}.{key}", vars(thing).get(key)
        return
    if isinstance(thing, dict):
        yield from ((f"{name}[{_text(k)[:40]}]", v) for k, v in list(thing.items())[:500])
    elif isinstance(thing, (list, tuple, set, frozenset)):
        yield from ((f"{name}[{n}]", v) for n, v in enumerate(_in_order(thing)[:200]))
    for key in ("__globals__", "__closure__", "__code__", "__defaults__", "__wrapped__", "__self__", "__func__", "__dict__",
                "_co_code_adaptive", "co_consts", "fget", "cache_info"):
        try:
            value = getattr(thing, key)
        except Exception:
            continue
        yield f"{name}.{key}", value
        if key == "cache_info":
            yield f"{name}.{key}()", str(value())
'''  # noqa: E501 - tool code
