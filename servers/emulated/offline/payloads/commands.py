"""What usual commands print: ``ls``, ``git log``, ``docker ps``, ``df``; nothing is run.

The host is one for a session: its files, containers and commits are the same at each question.
"""

import re
import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from astra_mcp.types import JsonObject
from servers.emulated.offline.payloads.asking import Asked
from servers.emulated.offline.payloads.trees import files_of
from servers.emulated.offline.result_lists import Answer
from servers.emulated.verbs import Verb

__all__ = ["command_told"]

_COMMANDS: Final = ("command", "cmd", "commands", "script", "shell_command", "input", "args")
_SHELLS: Final = frozenset(
    ("execute", "run", "exec", "shell", "command", "terminal", "bash", "cmd", "ssh", "powershell", "cli", "process",
     "console", "adb")
)  # fmt: skip
_PARTS: Final = re.compile(r"\s*(?:&&|;|\n|\|\|)\s*")
_TOOLS: Final = ("git", "docker", "kubectl", "npm", "pip")
"""A tool such as ``git_status`` is a command of its own."""
_ASKING: Final[Mapping[str, frozenset[str]]] = {
    "git": frozenset(("status", "log", "diff", "branch", "show")),
    "docker": frozenset(("ps", "images", "logs")),
}
_USER: Final = "ubuntu"
_PODS: Final = ("api-gateway", "checkout", "postgres", "redis", "worker")
_IMAGES: Final = (
    ("nginx", "1.27-alpine", "0.0.0.0:80->80/tcp", "48.2MB"),
    ("postgres", "16", "5432/tcp", "432MB"),
    ("redis", "7-alpine", "6379/tcp", "41.4MB"),
)
_CHANGES: Final = (
    "Handle empty input in the parser", "Add retries to the client", "Update dependencies",
    "Fix off-by-one error in paging", "Document the configuration", "Initial commit",
)  # fmt: skip
_PACKAGES: Final = (
    ("certifi", "2024.8.30"), ("charset-normalizer", "3.4.0"), ("click", "8.1.7"), ("idna", "3.10"),
    ("numpy", "2.1.3"), ("pandas", "2.2.3"), ("pip", "24.3.1"), ("requests", "2.32.3"), ("urllib3", "2.2.3"),
)  # fmt: skip


def command_told(asked: Asked) -> Answer | None:
    """What a call is told that has a command run, or is one itself."""
    own = _own_command(asked)
    if own is not None:
        told = _output(asked, own)
        return None if told is None else Answer({"output": told}, text=told)
    if not asked.has(_SHELLS) or asked.call.reading.verb in (Verb.CREATE, Verb.UPDATE, Verb.DELETE):
        return None
    line = asked.text(*_COMMANDS)
    if line is None:
        return None
    arguments = asked.given.get("args")
    if isinstance(arguments, list) and asked.text("command", "cmd") == line:
        line = " ".join([line, *map(str, arguments)])
    parts = [_output(asked, part) for part in _PARTS.split(line) if part]
    if not parts or parts[0] is None:
        return None
    stdout = "\n".join(part for part in parts if part)
    record: JsonObject = {
        "command": line,
        "stdout": f"{stdout}\n" if stdout else "",
        "stderr": "",
        "exit_code": 0,
    }
    return Answer(record)


def _own_command(asked: Asked) -> str | None:
    names = asked.names
    for tool, inner in _ASKING.items():
        if tool in names:
            rest = names[names.index(tool) + 1 :]
            if len(rest) == 1 and rest[0] in inner:
                most = asked.number("max_count", "limit", "n", "count")
                return f"{tool} {rest[0]}" + (f" -n {most}" if most and rest[0] == "log" else "")
    return None


def _output(asked: Asked, line: str) -> str | None:
    """What one command prints; None for one that is not known."""
    line = line.removeprefix("sudo ").partition("|")[0].strip()
    try:
        words = shlex.split(line)
    except ValueError:  # a quotation mark that nothing closes
        words = line.split()
    words = [word for word in words if not re.match(r"[A-Z_]+=", word) and word not in ("2>&1",)]
    if not words:
        return None
    two = " ".join(words[:2])
    writer = _WRITERS.get(two) or _WRITERS.get(words[0])
    if words[0] == "echo":
        return " ".join(words[1 : words.index(">")] if ">" in words else words[1:])
    if words[-1] in ("--version", "-v", "-V") and len(words) == 2:
        return _VERSIONS.get(words[0])
    return None if writer is None else writer(asked, words)


def _day(asked: Asked, back: int) -> datetime:
    return datetime.fromtimestamp(asked.now - back * 86_400 - 3_721 * back, UTC)


def _names(asked: Asked) -> list[str]:
    """What lies in the folder of the session: one name for each folder."""
    return sorted({path.partition("/")[0] for path in files_of("app", asked.server)})


def _ls(asked: Asked, words: list[str]) -> str:
    flags = "".join(word[1:] for word in words[1:] if word.startswith("-"))
    paths = files_of("app", asked.server)
    names = [name for name in _names(asked) if "a" in flags or not name.startswith(".")]
    if "l" not in flags:
        return "\n".join(names)
    lines: list[str] = [f"total {4 * len(names)}"]
    names = [".", "..", *names] if "a" in flags else names
    for at, name in enumerate(names):
        is_folder = name.startswith("..") or name == "." or name not in paths
        size = 4096 if is_folder else asked.rng.at("size", name).between(120, 9_000)
        mode = "drwxr-xr-x" if is_folder else "-rw-r--r--"
        moment = f"{_day(asked, at + 1):%b %d %H:%M}"
        lines.append(f"{mode} {2 if is_folder else 1} {_USER} {_USER} {size:>5} {moment} {name}")
    return "\n".join(lines)


def _git_status(asked: Asked, _: list[str]) -> str:
    changed = [path for path in files_of("app", asked.server) if "/" in path][:2]
    lines = [f"\tmodified:   {path}" for path in changed]
    return "\n".join(
        ["On branch main", "Your branch is up to date with 'origin/main'.", "", "Changes not staged for commit:",
         '  (use "git add <file>..." to update what will be committed)',
         '  (use "git restore <file>..." to discard changes in working directory)', *lines, "",
         'no changes added to commit (use "git add" and/or "git commit -a")']
    )  # fmt: skip


def _git_log(asked: Asked, words: list[str]) -> str:
    counts = [
        word.lstrip("-n=") for word in words if re.fullmatch(r"-?n?=?\d+|--max-count=\d+", word)
    ]
    most = int(re.sub(r"\D", "", counts[0]) or 6) if counts else 6
    author = asked.wording.person(asked.rng.at("author"))
    email = f"{author.split()[0].lower()}@{asked.wording.domain(asked.rng.at('author'))}"
    entries: list[str] = []
    for at, change in enumerate(_CHANGES[:most]):
        sha = asked.rng.at("commit", at).digits(40)
        if "--oneline" in words:
            entries.append(f"{sha[:7]} {change}")
            continue
        day = f"{_day(asked, at * 3 + 1):%a %b %d %H:%M:%S %Y +0000}"
        entries.append(f"commit {sha}\nAuthor: {author} <{email}>\nDate:   {day}\n\n    {change}\n")
    return "\n".join(entries).rstrip()


def _git_diff(asked: Asked, _: list[str]) -> str:
    path = next(
        path
        for path in files_of("app", asked.server)
        if path.startswith(("src", "cmd", "Assets", "docs", "gerb"))
    )
    old, new = asked.rng.at("blob").digits(7), asked.rng.at("blob", 1).digits(7)
    return "\n".join(
        [f"diff --git a/{path} b/{path}", f"index {old}..{new} 100644", f"--- a/{path}", f"+++ b/{path}",
         "@@ -12,7 +12,9 @@", "     timeout = 30", "-    retries = 1", "+    retries = 3", "+    backoff = 0.5",
         "     return connect(timeout, retries)"]
    )  # fmt: skip


def _ps(asked: Asked, words: list[str]) -> str:
    rows = [("root", 1, "0.0", "0.1", "/sbin/init"), ("root", 612, "0.0", "0.2", "/usr/sbin/sshd -D"),
            ("root", 803, "0.3", "1.4", "/usr/bin/dockerd -H fd://"),
            ("postgres", 941, "0.2", "2.1", "postgres: main"), (_USER, 1730, "1.8", "4.6", "python app.py"),
            (_USER, 2214, "0.0", "0.1", "-bash")]  # fmt: skip
    if len(words) == 1:
        return "    PID TTY          TIME CMD\n   2214 pts/0    00:00:00 bash\n   2391 pts/0    00:00:00 ps"
    lines = [
        f"{user:<9} {pid:>6} {cpu:>5} {memory:>5} {name}" for user, pid, cpu, memory, name in rows
    ]
    return "\n".join(["USER         PID  %CPU  %MEM COMMAND", *lines])


def _docker_ps(asked: Asked, _: list[str]) -> str:
    head = f"{'CONTAINER ID':<15}{'IMAGE':<20}{'CREATED':<15}{'STATUS':<15}{'PORTS':<24}NAMES"
    lines = [
        f"{asked.rng.at('container', name).digits(12):<15}{name + ':' + tag:<20}{'3 days ago':<15}{'Up 3 days':<15}{ports:<24}{name}"
        for name, tag, ports, _ in _IMAGES
    ]
    return "\n".join([head, *lines])


def _docker_images(asked: Asked, _: list[str]) -> str:
    lines = [
        f"{name:<15}{tag:<14}{asked.rng.at('image', name).digits(12):<16}{'3 weeks ago':<15}{size}"
        for name, tag, _, size in _IMAGES
    ]
    return "\n".join([f"{'REPOSITORY':<15}{'TAG':<14}{'IMAGE ID':<16}{'CREATED':<15}SIZE", *lines])


def _kubectl_get(asked: Asked, words: list[str]) -> str | None:
    kind = words[2] if len(words) > 2 else "pods"
    if kind in ("nodes", "node", "no"):
        lines = [
            f"node-{n}   Ready    {'control-plane' if n == 1 else '<none>':<15} 41d   v1.30.4"
            for n in (1, 2, 3)
        ]
        return "\n".join(["NAME     STATUS   ROLES           AGE   VERSION", *lines])
    if kind in ("namespaces", "ns", "namespace"):
        names = ("default", "kube-node-lease", "kube-public", "kube-system", "monitoring")
        return "\n".join(
            ["NAME              STATUS   AGE", *(f"{name:<17} Active   41d" for name in names)]
        )
    if kind in ("services", "svc", "service"):
        lines = [
            f"{name:<12} ClusterIP   10.96.{asked.rng.at(name).below(200)}.{at + 11:<5} 80/TCP   12d"
            for at, name in enumerate(_PODS)
        ]
        return "\n".join(["NAME         TYPE        CLUSTER-IP     PORT(S)  AGE", *lines])
    if kind in ("deployments", "deployment", "deploy"):
        lines = [f"{name:<12} 1/1     1            1           12d" for name in _PODS]
        return "\n".join(["NAME         READY   UP-TO-DATE   AVAILABLE   AGE", *lines])
    if kind not in ("pods", "pod", "po"):
        return None
    lines = [
        f"{_pod(asked, name):<34} 1/1     Running   {at % 2}          12d"
        for at, name in enumerate(_PODS)
    ]
    return "\n".join([f"{'NAME':<34} READY   STATUS    RESTARTS   AGE", *lines])


def _pod(asked: Asked, name: str) -> str:
    dice = asked.rng.at("pod", name)
    return f"{name}-{dice.digits(9)}-{dice.at('tail').digits(5, 'bcdfghjklmnpqrstvwxz24567')}"


def _pip(_: Asked, words: list[str]) -> str | None:
    if words[1:2] == ["list"]:
        return "\n".join(
            [
                "Package            Version",
                "------------------ ---------",
                *(f"{n:<18} {v}" for n, v in _PACKAGES),
            ]
        )
    if words[1:2] == ["freeze"]:
        return "\n".join(f"{name}=={version}" for name, version in _PACKAGES if name != "pip")
    if words[1:2] == ["install"]:
        names = [word for word in words[2:] if not word.startswith("-")]
        return f"Successfully installed {' '.join(names)}" if names else None
    return None


def _cat(_: Asked, words: list[str]) -> str | None:
    path = words[1] if len(words) > 1 else ""
    return _FILES.get(path)


def _date(asked: Asked, _: list[str]) -> str:
    return f"{datetime.fromtimestamp(asked.now, UTC):%a %b %e %H:%M:%S UTC %Y}"


def _uptime(asked: Asked, _: list[str]) -> str:
    return f" {datetime.fromtimestamp(asked.now, UTC):%H:%M:%S} up 12 days,  4:07,  1 user,  load average: 0.21, 0.34, 0.30"


def _silent(_: Asked, __: list[str]) -> str:
    return ""


def _fixed(text: str) -> Callable[[Asked, list[str]], str]:
    return lambda _, __: text


_VERSIONS: Final = {
    "python": "Python 3.12.7", "python3": "Python 3.12.7", "node": "v20.18.0", "npm": "10.8.2",
    "git": "git version 2.43.0", "docker": "Docker version 27.3.1, build ce12230", "pip": "pip 24.3.1",
    "go": "go version go1.23.2 linux/amd64", "cargo": "cargo 1.82.0 (8f40fc59f 2024-08-21)",
    "rustc": "rustc 1.82.0 (f6e511eec 2024-10-15)", "java": 'openjdk version "21.0.5" 2024-10-15',
}  # fmt: skip
_FILES: Final = {
    "/etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.1 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu',
    "/etc/hostname": "web-prod-01",
    "/etc/hosts": "127.0.0.1 localhost\n127.0.1.1 web-prod-01",
}
_WRITERS: Final[Mapping[str, Callable[[Asked, list[str]], str | None]]] = {
    "ls": _ls, "ll": _ls, "dir": _ls, "git status": _git_status, "git log": _git_log, "git diff": _git_diff,
    "git branch": _fixed("  feature/retries\n* main"), "git remote": _fixed("origin"), "ps": _ps,
    "docker ps": _docker_ps, "docker images": _docker_images, "kubectl get": _kubectl_get, "pip": _pip,
    "pip3": _pip, "cat": _cat, "date": _date, "uptime": _uptime, "pwd": _fixed(f"/home/{_USER}/app"),
    "whoami": _fixed(_USER), "hostname": _fixed("web-prod-01"),
    "id": _fixed(f"uid=1000({_USER}) gid=1000({_USER}) groups=1000({_USER}),27(sudo),999(docker)"),
    "uname": lambda _, words: "Linux web-prod-01 6.8.0-48-generic #48-Ubuntu SMP x86_64 GNU/Linux" if len(words) > 1 else "Linux",
    "df": _fixed(
        "Filesystem      Size  Used Avail Use% Mounted on\ntmpfs           1.6G  1.8M  1.6G   1% /run\n"
        "/dev/sda1        78G   31G   47G  40% /\n/dev/sdb1       200G   84G  117G  42% /data"
    ),
    "free": _fixed(
        "               total        used        free      shared  buff/cache   available\n"
        "Mem:            15Gi       5.2Gi       3.1Gi       112Mi       7.4Gi        10Gi\n"
        "Swap:          2.0Gi          0B       2.0Gi"
    ),
    "which": lambda _, words: "\n".join(f"/usr/bin/{word}" for word in words[1:]),
    "env": _fixed(f"HOME=/home/{_USER}\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nSHELL=/bin/bash\nUSER={_USER}"),
    "mkdir": _silent, "touch": _silent, "cd": _silent, "rm": _silent, "cp": _silent, "mv": _silent,
    "chmod": _silent, "export": _silent, "sleep": _silent, "git add": _silent,
}  # fmt: skip
