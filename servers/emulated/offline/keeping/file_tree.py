"""The files and directories of one session: those that calls made, and a few in each place looked into."""

import posixpath
from collections.abc import Callable, Iterator
from typing import Final

from astra_mcp.types import JsonObject, JsonValue, canonical_json
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.wording import written
from servers.emulated.offline.computing.operands import UnfitError
from servers.emulated.offline.selection import EntityRefusedError

__all__ = ["FileTree"]

MAX_FILES: Final = 2000
_MAX_CHARACTERS: Final = 4 << 20
_FIRST_FILES: Final = ("README.md", "notes.txt", "config.json", "data.csv", "main.py", "todo.md")


class FileTree:
    """Paths are those of POSIX; one that begins with no slash is taken from the root."""

    def __init__(
        self, about: str, rng: RandomStream, on_undo: Callable[[Callable[[], object]], None]
    ) -> None:
        """Begin with nothing that anybody has seen.

        Args:
            about: What the server says of itself, which its first files say, too.
            rng: Decide which files there are in a place.
            on_undo: Takes what undoes a change.
        """
        self.now = 0
        """Seconds since 1970; set before each command."""
        self._about = about
        self._rng = rng
        self._on_undo = on_undo
        self._files: dict[str, tuple[str, int]] = {}
        """By path: the content, and when it was written."""
        self._folders: dict[str, int] = {}
        """All that were made or looked into, and when."""
        self._is_bound = False

    def begin(self, now: int) -> None:
        """Begin a call, whose changes are undone together."""
        self.now = now
        self._is_bound = False

    def read(self, path: str) -> str:
        """The content of a file.

        Raises:
            UnfitError: There is none.
        """
        place = _plain(path)
        self._look_into(posixpath.dirname(place))
        if place in self._files:
            return self._files[place][0]
        if self._is_folder(place):
            raise UnfitError(f"Is a directory: {path}")
        raise UnfitError(f"File not found: {path}")

    def write(self, path: str, content: str) -> bool:
        """Let a file hold a text; says whether it is new."""
        place = _plain(path)
        self._look_into(posixpath.dirname(place))
        if self._is_folder(place):
            raise UnfitError(f"Is a directory: {path}")
        blocking = next((above for above in _above(place) if above in self._files), None)
        if blocking is not None:
            raise UnfitError(f"Not a directory: {blocking}")
        self._bind()
        is_new = place not in self._files
        size = sum(len(kept) for kept, _ in self._files.values()) + len(content)
        if size > _MAX_CHARACTERS or (is_new and len(self._files) >= MAX_FILES):
            raise EntityRefusedError("No space left on device")
        self._files[place] = (content, self.now)
        for above in _above(place):
            self._folders.setdefault(above, self.now)
        return is_new

    def remove(self, path: str) -> int:
        """Take a file away, or a directory with all that is in it; says how many files that were."""
        place = _plain(path)
        self._need(place, path)
        self._bind()
        inside = [each for each in self._files if each == place or each.startswith(f"{place}/")]
        for each in inside:
            del self._files[each]
        for folder in [f for f in self._folders if f == place or f.startswith(f"{place}/")]:
            del self._folders[folder]
        return len(inside)

    def copy(self, source: str, target: str) -> list[str]:
        """Write a file, or all that are in a directory, once more elsewhere; names the new ones."""
        first, last = _plain(source), _plain(target)
        self._need(first, source)
        if last == first or last.startswith(f"{first}/"):
            raise UnfitError(f"Cannot move {source} into itself")
        if last in self._files:
            raise UnfitError(f"Path already exists: {target}")
        if self._is_folder(last) and first in self._files:
            last = posixpath.join(last, posixpath.basename(first))
        pairs = [
            (p, last + p.removeprefix(first))
            for p in self._files
            if p == first or p.startswith(f"{first}/")
        ]
        if self._is_folder(first):
            self.make_folder(last)
        for path, new in pairs:
            self.write(new, self._files[path][0])
        return [new for _, new in pairs] or [last]

    def make_folder(self, path: str) -> bool:
        """Make a directory and those above it; says whether it is new."""
        place = _plain(path)
        if place in self._files:
            raise UnfitError(f"Path already exists: {path}")
        is_new = not self._is_folder(place)
        if len(self._folders) >= MAX_FILES:
            raise EntityRefusedError("No space left on device")
        self._bind()
        for folder in (place, *_above(place)):
            self._folders.setdefault(folder, self.now)
        return is_new

    def entries(self, path: str) -> list[JsonValue]:
        """What is in a directory, in the order of the names."""
        place = _plain(path)
        if place in self._files:
            raise UnfitError(f"Not a directory: {path}")
        self._look_into(place)
        if not self._is_folder(place):
            raise UnfitError(f"Directory not found: {path}")
        files = [f for f in self._files if posixpath.dirname(f) == place]
        folders = [f for f in self._folders if f != place and posixpath.dirname(f) == place]
        return [self._told(each) for each in sorted((*files, *folders))]

    def told(self, path: str) -> JsonObject:
        """What is known of a file or a directory."""
        place = _plain(path)
        self._need(place, path)
        return {**self._told(place), "path": path}

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory."""
        place = _plain(path)
        self._look_into(posixpath.dirname(place))
        return place in self._files or self._is_folder(place)

    def below(self, path: str) -> Iterator[str]:
        """The paths of all files in and under a directory, in their order."""
        self.entries(path)
        place = _plain(path).rstrip("/")
        yield from sorted(each for each in self._files if each.startswith(f"{place}/"))

    def _told(self, place: str) -> JsonObject:
        name = posixpath.basename(place) or "/"
        if place in self._files:
            content, moment = self._files[place]
            size = len(content.encode("utf-8", "surrogatepass"))
            return {"name": name, "type": "file", "size": size, "modified_at": written(moment)}
        return {"name": name, "type": "directory", "modified_at": written(self._folders[place])}

    def _need(self, place: str, path: str) -> None:
        self._look_into(posixpath.dirname(place))
        if place not in self._files and not self._is_folder(place):
            raise UnfitError(f"File or directory not found: {path}")

    def _is_folder(self, place: str) -> bool:
        return place in self._folders

    def _look_into(self, folder: str) -> None:
        """Let a directory have a few files at the first look, unless it lies where all is known."""
        if folder in self._folders or any(
            above in self._files for above in (folder, *_above(folder))
        ):
            return
        if any(above in self._folders for above in _above(folder)) and folder != "/":
            return
        if len(self._folders) >= MAX_FILES:
            return
        self._bind()
        moment = self.now - self._rng.at("age", folder).between(86_400, 90 * 86_400)
        for above in (folder, *_above(folder)):
            self._folders.setdefault(above, moment)
        for at, name in enumerate(_FIRST_FILES):
            if at == 0 or self._rng.at("file", folder, name).below(2):
                self._files[posixpath.join(folder, name)] = (self._first(name), moment)

    def _first(self, name: str) -> str:
        """The content of a file that was there before."""
        match name.rpartition(".")[2]:
            case "md":
                return f"# {name.partition('.')[0].title()}\n\n{self._about}\n"
            case "json":
                return f"{canonical_json({'description': self._about, 'version': 1}).decode()}\n"
            case "csv":
                rows = (f"{n},{self._rng.at('row', n).between(1, 99)}" for n in range(1, 6))
                return "\n".join(("id,value", *rows)) + "\n"
            case "py":
                return 'def main() -> None:\n    print("ready")\n\n\nif __name__ == "__main__":\n    main()\n'
            case _:
                return f"{self._about}\n"

    def _bind(self) -> None:
        """Have all that a call changes undone if it fails."""
        if self._is_bound:
            return
        self._is_bound = True
        files, folders = dict(self._files), dict(self._folders)

        def undo() -> None:
            self._files, self._folders = files, folders

        self._on_undo(undo)


def _plain(path: str) -> str:
    """A path without detours, from the root."""
    if not path.strip() or "\0" in path or len(path) > 1000:
        raise UnfitError(f"Invalid path: {path[:60]!r}")
    return posixpath.normpath("/" + path.strip().replace("\\", "/").lstrip("/"))


def _above(place: str) -> Iterator[str]:
    """The directories above a path, the nearest first, but for the root."""
    while (place := posixpath.dirname(place)) not in ("/", ""):
        yield place
