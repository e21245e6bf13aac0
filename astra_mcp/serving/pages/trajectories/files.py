"""Where the trajectories and scores of episodes stand: an index of files.

These are the ones in one folder of the home, where ``astra-mcp rollout`` leaves its trajectories, and those
that the last rollouts were told to write elsewhere. The index is in memory, and is caught up with when
somebody asks: of what it has seen, a file costs one look at its length, and what was appended is read once.
At most so much is read for one who asks; who comes next reads on.
"""

import logging
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import anyio
import anyio.to_thread
from pydantic import ValidationError

from astra_mcp.errors import NotAvailableError
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.trajectory import Trajectory
from training.rewards.score import Score, digest_of

__all__ = ["Player", "TrajectoryFiles", "Written"]

_SUFFIX = ".jsonl"
_BYTES_A_LOOK = 128 << 20
"""So much is read for one who asks."""
_MAX_BYTES = 8 << 20
"""A longer trajectory is no page: to parse it would hold everything else up."""
_PIECE_BYTES = 1 << 20
"""Of a longer line so much is held at once, and the part that has no end yet is not read again."""
_KNOWN_BYTES = 64
"""Before the place up to which was read, by which a file that was written anew is told."""
_MAX_TRIES = 3
"""To find a trajectory and its score in files that are rewritten just now."""
_HEAD_BYTES = 16 << 10
"""Within so much of a line its agent stands, unless its source is longer."""
_LINE = re.compile(
    rb'\{"schema_version": ?\d+, ?"episode_id": ?"(?:\\")?([0-9a-f]{32})(?:\\")?", ?"(digest)?'
)
"""How a line begins, of a trajectory in any version of its schema, or of a score."""
_TEXT = rb'\\?"([^"\\]{1,100})\\?"'
_AGENT = re.compile(
    rb'"agent": ?"?\{\\?"name\\?": ?%s, ?\\?"model\\?": ?(?:null|%s)' % (_TEXT, _TEXT)
)

_log = logging.getLogger("astra_mcp.pages")

Kind = Literal["trajectory", "score"]
Found = TypeVar("Found")


class Player(NamedTuple):
    """Who played, as a trajectory begins."""

    name: str
    model: str | None

    @property
    def shown(self) -> str:
        """In a word or two."""
        return self.model or self.name


class _MovedError(Exception):
    """Something else stands where a line was noted."""


class _Place(NamedTuple):
    file: "_File"
    begin: int
    length: int
    player: Player | None


@dataclass(eq=False, slots=True)
class _File:
    """What is known of one file."""

    path: Path
    node: tuple[int, int]
    """Device and inode: a file that takes the place of another one is another one."""
    num_read: int = 0
    """Bytes of whole lines."""
    num_seen: int = 0
    """Bytes behind those, of a long line that has no end yet."""
    known: bytes = b""
    """The last ones of all these."""
    is_gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What files say of one episode."""

    trajectory: Trajectory
    name: str
    """Of the file."""
    score: Score | None = None
    score_fault: str | None = None
    """Why a score that is there is not shown."""


@dataclass(eq=False)
class TrajectoryFiles:
    """The files of one folder, which may not exist yet, and those that are noted elsewhere."""

    _folder: Path
    _noted: Callable[[], Iterable[Path]] = tuple
    _files: dict[Path, _File] = field(default_factory=dict[Path, _File], init=False)
    _places: dict[tuple[Kind, str], _Place] = field(
        default_factory=dict[tuple[Kind, str], _Place], init=False
    )
    _unread: set[Path] = field(default_factory=set[Path], init=False)
    is_complete: bool = field(default=False, init=False)
    """False where files are longer than what was read so far."""

    def __post_init__(self) -> None:
        self._turn = anyio.Lock()

    async def players(self, episodes: Iterable[str]) -> Mapping[str, Player]:
        """Tell who played, of those episodes whose trajectories are there."""
        await self._catch_up()
        found = ((id_, self._find("trajectory", id_)) for id_ in episodes)
        return {id_: place.player for id_, place in found if place and place.player}

    async def read(self, episode: str) -> Written | None:
        """Read the trajectory of an episode, and its score; None where there is none.

        Raises:
            NotAvailableError: It is too long to be shown, or cannot be read.
        """
        return await self._settled(self._read, episode)

    async def line(self, episode: str) -> bytes | None:
        """Give the line of a trajectory as it is; None where there is none."""
        return await self._settled(self._line, episode)

    async def _settled(self, read: Callable[[str], Found | None], episode: str) -> Found | None:
        """Read what is noted of an episode, and note it anew where it has moved."""
        for _ in range(_MAX_TRIES):
            await self._catch_up()
            try:
                return await anyio.to_thread.run_sync(read, episode)
            except _MovedError:
                continue
        return None

    # --- the index ---------------------------------------------------------------------------------

    def _find(self, kind: Kind, episode: str) -> _Place | None:
        place = self._places.get((kind, episode))
        return None if place is None or place.file.is_gone else place

    async def _catch_up(self) -> None:
        async with self._turn:
            await anyio.to_thread.run_sync(self._look)

    def _look(self) -> None:
        """Read what was appended since the last look, the newest files first."""
        left = _BYTES_A_LOOK
        self.is_complete = True
        present = self._present()
        for path in self._files.keys() - {path for path, _ in present}:
            self._files.pop(path).is_gone = True
        for path, found in present:
            file = self._known(path, found)
            if found.st_size <= file.num_read + file.num_seen:
                continue
            if left <= 0:
                self.is_complete = False
                break
            if _is_rewritten(file):
                file = self._anew(path, found)
            left -= self._index(file, left)
            if left <= 0 and file.num_read + file.num_seen < found.st_size:
                self.is_complete = False

    def _present(self) -> list[tuple[Path, os.stat_result]]:
        """The files that there are, the newest first."""
        names: list[str] = []
        try:
            names = [name for name in os.listdir(self._folder) if name.endswith(_SUFFIX)]
        except FileNotFoundError:
            pass
        except OSError as error:
            self._leave_out(self._folder, error)
        paths = dict.fromkeys([*(self._folder / name for name in names), *self._noted()])
        found = [(path, known) for path in paths if (known := _stat_of(path)) is not None]
        return sorted(found, key=lambda each: (-each[1].st_mtime_ns, each[0]))

    def _leave_out(self, path: Path, error: OSError) -> None:
        """Say once in the log what cannot be read."""
        if path not in self._unread:
            self._unread.add(path)
            _log.warning("left out of the trajectories: %s (%s)", path, error.strerror)

    def _known(self, path: Path, found: os.stat_result) -> _File:
        known = self._files.get(path)
        if (
            known is not None
            and known.node == (found.st_dev, found.st_ino)
            and found.st_size >= known.num_read + known.num_seen
            and not known.is_gone
        ):
            return known
        return self._anew(path, found)

    def _anew(self, path: Path, found: os.stat_result) -> _File:
        """Forget what was read of a file."""
        if path in self._files:
            self._files[path].is_gone = True
        self._files[path] = _File(path, (found.st_dev, found.st_ino))
        return self._files[path]

    def _index(self, file: _File, limit: int) -> int:
        """Note where the lines of a file stand that are not known yet; answers how much was read."""
        taken, seen, known = 0, file.num_seen, file.known
        known_of_whole = known
        try:
            with file.path.open("rb") as lines:
                lines.seek(file.num_read + seen)
                while taken < limit and (piece := lines.readline(_PIECE_BYTES)):
                    taken += len(piece)
                    known = (known + piece[-_KNOWN_BYTES:])[-_KNOWN_BYTES:]
                    if not piece.endswith(b"\n"):
                        seen += len(piece)
                        continue
                    head = piece
                    if seen:
                        head = os.pread(lines.fileno(), _HEAD_BYTES, file.num_read)
                    self._note(file, head, seen + len(piece))
                    file.num_read += seen + len(piece)
                    seen, known_of_whole = 0, known
        except OSError as error:
            file.is_gone = True
            self._leave_out(file.path, error)
        is_long = seen >= _PIECE_BYTES  # a short one is being written, and read again
        file.num_seen = seen if is_long else 0
        file.known = known if is_long else known_of_whole
        return taken

    def _note(self, file: _File, line: bytes, length: int) -> None:
        """Note the place of a line, by its beginning."""
        found = _LINE.match(line)
        if found is None:
            return
        kind: Kind = "score" if found[2] else "trajectory"
        key = kind, found[1].decode()
        before = self._places.get(key)
        if before is not None and before.file is not file and not before.file.is_gone:
            return  # of a newer file
        player = _player_of(line) if kind == "trajectory" else None
        self._places[key] = _Place(file, file.num_read, length, player)

    # --- reading -----------------------------------------------------------------------------------

    def _line(self, episode: str) -> bytes | None:
        place = self._find("trajectory", episode)
        return None if place is None else _line_at(place, "trajectory", episode)

    def _read(self, episode: str) -> Written | None:
        place = self._find("trajectory", episode)
        if place is None:
            return None
        if place.length > _MAX_BYTES:
            size = f"{place.length / (1 << 20):.0f} MiB"
            msg = f"the trajectory of this episode has {size}, and a page shows {_MAX_BYTES >> 20} at most"
            raise NotAvailableError(f"{msg}: it stands in {place.file.path.name}")
        line = _line_at(place, "trajectory", episode)
        try:
            trajectory = Trajectory.from_line(_object_in(line))
        except (ValueError, RecursionError) as error:
            msg = f"the trajectory of this episode in {place.file.path.name} cannot be read"
            raise NotAvailableError(f"{msg}: {_words_of(error)}") from None
        score, fault = self._score(episode, trajectory)
        return Written(
            trajectory=trajectory, name=place.file.path.name, score=score, score_fault=fault
        )

    def _score(self, episode: str, trajectory: Trajectory) -> tuple[Score | None, str | None]:
        place = self._find("score", episode)
        if place is None:
            return None, None
        if place.length > _MAX_BYTES:
            return None, f"the score in {place.file.path.name} is too long to be shown"
        line = _line_at(place, "score", episode)
        try:
            score = Score.from_line(_object_in(line))
        except (ValueError, RecursionError) as error:
            return None, f"its score in {place.file.path.name} cannot be read: {_words_of(error)}"
        if score.digest != digest_of(trajectory):
            return None, f"the score in {place.file.path.name} is of other content"
        return score, None


def _is_rewritten(file: _File) -> bool:
    """Whether something else stands before the place up to which a file was read."""
    at = file.num_read + file.num_seen - len(file.known)
    try:
        with file.path.open("rb") as lines:
            return os.pread(lines.fileno(), len(file.known), at) != file.known
    except OSError:  # who reads on says it
        return False


def _stat_of(path: Path) -> os.stat_result | None:
    """What is known of a file; None where it has gone, or is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _player_of(line: bytes) -> Player | None:
    found = _AGENT.search(line, 0, _HEAD_BYTES)
    if found is None:
        return None
    name, model = (
        None if each is None else each.decode("utf-8", "replace") for each in found.groups()
    )
    return Player(name or "", model)


def _line_at(place: _Place, kind: Kind, episode: str) -> bytes:
    """Read the line that was noted.

    Raises:
        _MovedError: No whole line stands there, or another one; the file is to be read anew.
    """
    before = min(place.begin, 1)
    try:
        with place.file.path.open("rb") as file:
            file.seek(place.begin - before)
            found = file.read(before + place.length)
    except OSError:  # it has gone since
        found = b""
    line, begins = found[before:], _LINE.match(found, before)
    is_whole = found[:before] in (b"", b"\n") and line.find(b"\n") == place.length - 1
    noted = (episode, kind == "score")
    if is_whole and begins and (begins[1].decode(), begins[2] is not None) == noted:
        return line
    place.file.is_gone = True
    raise _MovedError


def _object_in(line: bytes) -> dict[str, object]:
    found = parse_strict(line.decode())
    if isinstance(found, dict):
        return found  # pyright: ignore[reportUnknownVariableType] - of JSON
    raise ValueError("it is no JSON object")


def _words_of(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return ": ".join(
            [*([".".join(map(str, first["loc"]))] if first["loc"] else []), first["msg"]]
        )
    return "it nests too deeply" if isinstance(error, RecursionError) else str(error)
