"""A PostgreSQL server for a test session, from the ``pgserver`` wheel, and fresh databases on it.

Only the wheel's programs are used: its own start makes a user of the machine and opens folders to
everybody where it runs as root. PostgreSQL refuses to run as root, so that ``nobody`` runs it then.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql

_START_SECONDS = 60


@dataclass
class PostgresServer:
    """A server that listens at a socket in a folder."""

    folder: Path
    _numbers: Iterator[int] = field(default_factory=count)

    @contextmanager
    def fresh_database(self, *, like: str = "template1") -> Generator[str]:
        """Make a database, named by its URL, and remove it with all connections to it.

        Args:
            like: The name of the one that it is a copy of.
        """
        name = f"registry_{next(self._numbers)}"
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        self._run(made.format(sql.Identifier(name), sql.Identifier(like)))
        try:
            yield self._url(name)
        finally:
            self._run(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def name_of(self, url: str) -> str:
        """The name in a URL that this server gave."""
        return url.partition("@/")[2].partition("?")[0]

    def _run(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def _url(self, name: str) -> str:
        return f"postgresql://postgres@/{name}?host={self.folder}"


@contextmanager
def running_postgres() -> Generator[PostgresServer]:
    """Start a server in a folder of its own, and stop it; nothing of it is left."""
    user = "nobody" if os.geteuid() == 0 else None
    # A socket's path must be short, which that of a test's own folder is not.
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as name:
        folder = Path(name)
        if user is not None:
            account = pwd.getpwnam(user)
            os.chown(folder, account.pw_uid, account.pw_gid)
        programs = _programs(folder, user)
        data = folder / "data"
        _run(
            [
                *(programs / "initdb", "-D", data, "-U", "postgres", "--auth=trust"),
                *("--encoding=UTF8", "--locale=C", "--no-sync"),
            ],
            user,
        )
        options = f"-k {folder} -h '' -c fsync=off -c max_connections=60"
        _run(
            [programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start"],
            user,
        )
        try:
            yield PostgresServer(folder)
        finally:
            _run([programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop"], user)


def _programs(folder: Path, user: str | None) -> Path:
    """Find the wheel's programs, or copy them to where the user may run them."""
    found = find_spec("pgserver")
    assert found is not None, "the pgserver wheel is not installed"
    assert found.origin is not None
    package = Path(found.origin).parent
    programs = package / "pginstall" / "bin"
    if user is None or _can_run(programs, user):
        return programs
    for part in (package, package.with_name("pgserver.libs")):
        if part.exists():
            shutil.copytree(part, folder / part.name)
    return folder / package.name / "pginstall" / "bin"


def _can_run(programs: Path, user: str) -> bool:
    try:
        _run([programs / "initdb", "--version"], user)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _run(command: list[Path | str], user: str | None) -> None:
    """Run one of the programs; what it says is kept for the error alone."""
    done = subprocess.run(
        [str(part) for part in command],
        user=user,
        group=None if user is None else pwd.getpwnam(user).pw_gid,
        extra_groups=None if user is None else [],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if command[-1] != "start" else subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        timeout=_START_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stdout or b"").decode(errors="replace")
        raise subprocess.CalledProcessError(done.returncode, done.args, said)
