"""What servers say of themselves and of the host they run on: health, version, load."""

import re
from datetime import UTC, datetime
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.wording import written
from servers.emulated.offline.payloads.asking import Asked
from servers.emulated.offline.promises import Form
from servers.emulated.offline.result_lists import Answer
from servers.emulated.verbs import Verb

__all__ = ["host_told", "service_told", "speed_told"]

_HEALTH: Final = frozenset(
    ("health", "healthcheck", "healthz", "ping", "heartbeat", "alive", "liveness", "readiness")
)
_SELF: Final = frozenset(
    ("api", "server", "service", "system", "connection", "check", "get", "health", "healthcheck", "test", "mcp", "status",
     "ping", "is", "current", "connected", "tool", "controller", "of", "the", "verify", "show", "heartbeat", "alive")
)  # fmt: skip
_VERSION: Final = frozenset(("version", "versions"))
_HOST: Final = (
    ("cpu", ("cpu", "processor")), ("memory", ("memory", "ram", "mem")), ("disk", ("disk", "disks", "filesystem", "drive")),
    ("network", ("network", "bandwidth", "interface")), ("gpu", ("gpu",)), ("battery", ("battery",)),
    ("all", ("system", "host", "hardware", "os", "machine")),
)  # fmt: skip
_MEASURED: Final = frozenset(
    ("usage", "info", "information", "stats", "status", "load", "metrics", "utilization", "resources", "monitor", "overview",
     "performance", "statistics", "details", "specs", "state")
)  # fmt: skip
_WHOSE: Final = frozenset(
    ("monitor", "monitoring", "host", "os", "hardware", "unraid", "linux", "windows", "macos", "mac", "applescript", "desktop",
     "sysinfo", "powershell", "shell", "ssh", "android", "raspberry", "computer", "pc", "machine")
)  # fmt: skip
_OF_A_HOST: Final = re.compile(
    r"operating system|hardware|\bcpu\b|\bos\b|host system|disk space|battery|\bram\b"
)
_OF_A_SERVICE: Final = re.compile(
    r"\b(?:api|server|service|alive|connect\w*|health\w*|ping|site|backend|running)\b"
)
_OPTIONS: Final = frozenset(
    ("random_string", "dummy", "ctx", "verbose", "detailed", "service", "api_key")
)
_OF_OTHERS: Final = frozenset(
    ("task", "order", "job", "user", "project", "crawl", "payment", "invoice", "issue", "email")
)


def service_told(asked: Asked) -> Answer | None:
    """What a call is told that asks whether the server works, or which version it is."""
    form = asked.promise.form
    is_read = asked.call.reading.verb in (Verb.GET, Verb.OTHER)
    if not is_read or form in (Form.LIST, Form.NUMBER, Form.FLAG) or asked.promise.members:
        return None
    names = asked.words - asked.server_words
    if asked.has(_VERSION) and not asked.given and names <= _SELF | _VERSION | {"info"}:
        version = _version(asked)
        if form is Form.TEXT or "string" in asked.said:
            return Answer({"version": version}, text=version)
        return Answer({"name": asked.title, "version": version})
    is_self = names <= _SELF and asked.has(_HEALTH | {"status"})
    if not is_self or asked.given.keys() - _OPTIONS or not _OF_A_SERVICE.search(asked.said):
        return None
    return Answer(_health(asked))


def _health(asked: Asked) -> JsonObject:
    told: JsonObject = {"status": "healthy" if asked.has(_HEALTH) else "ok"}
    if "api" in asked.words:
        told["available"] = True
    if asked.has(("connection", "connected")):
        told["connected"] = True
    if "ping" in asked.words:
        told["message"] = "pong"
    if asked.has(("api", "connection", "connected")) or "api" in asked.said:
        told |= {"authenticated": True, "response_time_ms": asked.rng.at("ms").between(38, 290)}
    uptime = asked.rng.at("uptime").between(3_600, 2_400_000)
    times: JsonObject = {"uptime_seconds": uptime, "timestamp": written(asked.now)}
    return {**told, "version": _version(asked), **times}


def _version(asked: Asked) -> str:
    dice = asked.rng.at("version")
    return f"{dice.between(1, 3)}.{dice.at(1).between(0, 14)}.{dice.at(2).between(0, 9)}"


def host_told(asked: Asked) -> Answer | None:
    """What a call is told that asks how a host is used: figures that add up."""
    if (
        asked.call.reading.verb not in (Verb.GET, Verb.OTHER)
        or not asked.has(_MEASURED)
        or asked.has(_OF_OTHERS)
    ):
        return None
    kind = next((kind for kind, said in _HOST if asked.has(said)), None)
    if kind is None or len(asked.words - asked.server_words) > 4:
        return None
    is_host = not asked.server.isdisjoint(_WHOSE) or _OF_A_HOST.search(asked.said) is not None
    if (
        not is_host
        or (kind == "network" and asked.has(("monitor", "requests")))
        or asked.promise.form in (Form.LIST, Form.NUMBER)
    ):
        return None
    host = _Host(asked)
    if kind == "all":
        return Answer(host.whole())
    return Answer(getattr(host, kind)())


_SPEEDS: Final = frozenset(("speed", "speedtest", "jitter", "latency"))


def speed_told(asked: Asked) -> Answer | None:
    """What a call is told that measures a connection."""
    if not asked.has(_SPEEDS) or not asked.has(
        ("test", "measure", "run", "check", "speedtest", "internet", "network")
    ):
        return None
    if asked.has(("wind", "page", "website", "typing", "set", "clock", "fan")):
        return None
    dice = asked.rng.at("speed", asked.now)
    latency = round(9 + 22 * dice.fraction(), 1)
    told: JsonObject = {"latency_ms": latency, "jitter_ms": round(latency * 0.12, 2)}
    is_up, is_down = "upload" in asked.words, "download" in asked.words
    if is_down or not (is_up or asked.has(("jitter", "latency"))):
        told["download_mbps"] = round(90 + 380 * dice.at("down").fraction(), 2)
    if is_up or not (is_down or asked.has(("jitter", "latency"))):
        told["upload_mbps"] = round(20 + 70 * dice.at("up").fraction(), 2)
    return Answer(
        {
            **told,
            "server": f"{asked.wording.one_of('cities', asked.rng.at('place'))}",
            "timestamp": written(asked.now),
        }
    )


class _Host:
    """One host for a session; its load is that of the call."""

    def __init__(self, asked: Asked) -> None:
        self._rng = asked.rng.at("host")
        self._now = asked.now
        self._is_windows = "windows" in asked.server
        self._is_mac = not asked.server.isdisjoint(("macos", "mac", "applescript", "apple"))

    def cpu(self) -> JsonObject:
        loads = [
            round(4 + 40 * self._rng.at("core", at, self._now).fraction(), 1) for at in range(8)
        ]
        cores: list[JsonValue] = [*loads]
        return {"usage_percent": round(sum(loads) / len(loads), 1), "per_core_percent": cores, "cores": 8,
                "frequency_mhz": 2900, "load_average": [0.84, 1.02, 0.97]}  # fmt: skip

    def memory(self) -> JsonObject:
        total, used = 16.0, round(5 + 6 * self._rng.at("memory", self._now).fraction(), 2)
        return {"total_gb": total, "used_gb": used, "free_gb": round(total - used, 2), "percent": round(used / total * 100, 1),
                "swap_total_gb": 2.0, "swap_used_gb": 0.0}  # fmt: skip

    def disk(self) -> JsonObject:
        names = ("C:", "D:") if self._is_windows else ("/", "/data")
        disks: list[JsonValue] = []
        for name, total in zip(names, (256.0, 1000.0), strict=True):
            used = round(total * (0.25 + 0.5 * self._rng.at("disk", name).fraction()), 1)
            disks.append({"mount": name, "total_gb": total, "used_gb": used, "free_gb": round(total - used, 1),
                          "percent": round(used / total * 100, 1)})  # fmt: skip
        return {"disks": disks}

    def network(self) -> JsonObject:
        dice = self._rng.at("network")
        address: JsonObject = {"ip_address": f"192.168.1.{dice.at('ip').between(20, 200)}", "netmask": "255.255.255.0",
                               "gateway": "192.168.1.1", "dns": ["192.168.1.1", "1.1.1.1"]}  # fmt: skip
        return {
            **address,
            "interface": "en0" if self._is_mac else "eth0", "rx_kb_s": round(400 * dice.fraction(), 1),
                "tx_kb_s": round(90 * dice.at(1).fraction(), 1), "rx_total_mb": dice.at(2).between(4_000, 90_000),
                "tx_total_mb": dice.at(3).between(600, 9_000)}  # fmt: skip

    def gpu(self) -> JsonObject:
        used = self._rng.at("gpu").between(900, 14_000)
        return {"gpus": [{"index": 0, "name": "NVIDIA RTX 4080", "memory_total_mb": 16_384, "memory_used_mb": used,
                          "utilization_percent": self._rng.at("busy").between(0, 92), "temperature_c": 54}]}  # fmt: skip

    def battery(self) -> JsonObject:
        percent = self._rng.at("battery").between(24, 97)
        return {"percent": percent, "is_charging": False, "power_source": "battery",
                "time_remaining": f"{percent * 4 // 60}:{percent * 4 % 60:02d}"}  # fmt: skip

    def whole(self) -> JsonObject:
        system = (
            "Windows 11 Pro 23H2"
            if self._is_windows
            else "macOS 14.6.1"
            if self._is_mac
            else "Ubuntu 24.04.1 LTS"
        )
        back = self._rng.at("up").between(86_400, 2_000_000)
        started = datetime.fromtimestamp(self._now - back, UTC)
        disks = self.disk()["disks"]
        return {"hostname": "desk-01" if self._is_windows or self._is_mac else "web-prod-01", "os": system,
                "architecture": "arm64" if self._is_mac else "x86_64", "cpu": self.cpu(), "memory": self.memory(),
                "disks": disks, "boot_time": f"{started.isoformat()[:19]}Z", "uptime_seconds": back}  # fmt: skip
