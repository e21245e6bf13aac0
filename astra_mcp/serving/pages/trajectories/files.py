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
from typing import BinaryIO, Literal, NamedTuple

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
"""Of the end of such a part, by which one that was written anew is told."""
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


class Player(NamedTuple):
    """Who played, as a trajectory begins."""

    name: str
    model: str | None

    @property
    def shown(self) -> str:
        """In a word or two."""
        return self.model or self.name


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
    """The last ones of these."""
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
        await self._catch_up()
        for _ in range(2):  # a file may be rewritten just now
            place = self._find("trajectory", episode)
            if place is None:
                return None
            found = await anyio.to_thread.run_sync(self._read, place, episode)
            if found is not None:
                return found
            place.file.is_gone = True
            await self._catch_up()
        return None

    async def line(self, episode: str) -> bytes | None:
        """Give the line of a trajectory as it is; None where there is none."""
        await self._catch_up()
        place = self._find("trajectory", episode)
        return None if place is None else await anyio.to_thread.run_sync(_line_at, place)

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
        node = (found.st_dev, found.st_ino)
        known = self._files.get(path)
        if (
            known is not None
            and known.node == node
            and found.st_size >= known.num_read + known.num_seen
            and not known.is_gone
        ):
            return known
        if known is not None:
            known.is_gone = True
        self._files[path] = _File(path, node)
        return self._files[path]

    def _index(self, file: _File, limit: int) -> int:
        """Note where the lines of a file stand that are not known yet; answers how much was read."""
        taken, seen, known = 0, 0, b""
        try:
            with file.path.open("rb") as lines:
                seen = _seen_before(file, lines)
                known = file.known if seen else b""
                lines.seek(file.num_read + seen)
                while taken < limit and (piece := lines.readline(_PIECE_BYTES)):
                    taken += len(piece)
                    if not piece.endswith(b"\n"):
                        seen, known = seen + len(piece), (known + piece)[-_KNOWN_BYTES:]
                        continue
                    head = piece
                    if seen:
                        head = os.pread(lines.fileno(), _HEAD_BYTES, file.num_read)
                    self._note(file, head, seen + len(piece))
                    file.num_read += seen + len(piece)
                    seen, known = 0, b""
        except OSError as error:
            file.is_gone = True
            self._leave_out(file.path, error)
        is_long = seen >= _PIECE_BYTES  # a short one is being written, and read again
        file.num_seen = seen if is_long else 0
        file.known = known if is_long else b""
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

    def _read(self, place: _Place, episode: str) -> Written | None:
        """Read what stands there; None where it is not what was noted."""
        if place.length > _MAX_BYTES:
            size = f"{place.length / (1 << 20):.0f} MiB"
            msg = f"the trajectory of this episode has {size}, and a page shows {_MAX_BYTES >> 20} at most"
            raise NotAvailableError(f"{msg}: it stands in {place.file.path.name}")
        line = _line_at(place)
        begins = None if line is None else _LINE.match(line)
        if line is None or begins is None or begins[1].decode() != episode:
            return None
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
        if place is not None and place.length > _MAX_BYTES:
            return None, f"the score in {place.file.path.name} is too long to be shown"
        line = None if place is None else _line_at(place)
        if place is None or line is None:
            return None, None
        try:
            score = Score.from_line(_object_in(line))
        except (ValueError, RecursionError) as error:
            return None, f"its score in {place.file.path.name} cannot be read: {_words_of(error)}"
        if score.digest != digest_of(trajectory):
            return None, f"the score in {place.file.path.name} is of other content"
        return score, None


def _seen_before(file: _File, lines: BinaryIO) -> int:
    """Say how much of a line without an end need not be read again."""
    at = file.num_read + file.num_seen - len(file.known)
    if file.num_seen and os.pread(lines.fileno(), len(file.known), at) == file.known:
        return file.num_seen
    return 0


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


def _line_at(place: _Place) -> bytes | None:
    try:
        with place.file.path.open("rb") as file:
            file.seek(place.begin)
            return file.read(place.length)
    except OSError:  # it has gone since
        return None


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
