"""What file servers are told to do; each takes the session's file tree first."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.computing.computation import Computation, computation, text, texts
from servers.emulated.offline.computing.operands import UnfitError
from servers.emulated.offline.keeping.file_tree import FileTree

__all__ = ["FILE_READING", "FILE_WRITING"]

_MAX_PATTERN: Final = 100


def _write(tree: FileTree, path: str, content: str) -> JsonObject:
    is_new = tree.write(path, content)
    return {"path": path, "bytes_written": _size(content), "created": is_new}


def _size(content: str) -> int:
    return len(content.encode("utf-8", "surrogatepass"))


def _append(tree: FileTree, path: str, content: str) -> JsonObject:
    whole = (tree.read(path) if tree.exists(path) else "") + content
    tree.write(path, whole)
    return {"path": path, "bytes_written": _size(content), "size": _size(whole)}


def _read(tree: FileTree, path: str) -> JsonObject:
    content = tree.read(path)
    return {"path": path, "content": content, "size": _size(content)}


def _read_many(tree: FileTree, paths: list[str]) -> JsonObject:
    return {"files": [_read(tree, path) for path in paths]}


def _replace(tree: FileTree, path: str, old: str, new: str) -> JsonObject:
    content = tree.read(path)
    if not old or old not in content:
        raise UnfitError(f"The text to replace is not in {path}")
    tree.write(path, content.replace(old, new, 1))
    return {"path": path, "replacements": 1}


def _delete(tree: FileTree, path: str) -> JsonObject:
    return {"path": path, "deleted": True, "files": tree.remove(path)}


def _move(tree: FileTree, source: str, target: str) -> JsonObject:
    made = tree.copy(source, target)
    tree.remove(source)
    return {"source": source, "destination": target, "moved": len(made)}


def _copy(tree: FileTree, source: str, target: str) -> JsonObject:
    return {"source": source, "destination": target, "copied": len(tree.copy(source, target))}


def _make_folder(tree: FileTree, path: str) -> JsonObject:
    return {"path": path, "created": tree.make_folder(path)}


def _list(tree: FileTree, path: str) -> JsonObject:
    entries = tree.entries(path)
    return {"path": path, "entries": entries, "count": len(entries)}


def _exists(tree: FileTree, path: str) -> JsonObject:
    return {"path": path, "exists": tree.exists(path)}


def _info(tree: FileTree, path: str) -> JsonObject:
    return tree.told(path)


def _search(tree: FileTree, path: str, pattern: str) -> JsonObject:
    """By name: a pattern with ``*`` and ``?``, or a part of the name."""
    if len(pattern) > _MAX_PATTERN or pattern.count("*") > 4:
        raise UnfitError(f"Invalid pattern: {pattern[:60]}")
    plain = pattern if set(pattern) & set("*?") else f"*{pattern}*"
    names = plain.removeprefix("**/")
    found: list[JsonValue] = [
        each for each in tree.below(path) if fnmatchcase(each.rpartition("/")[2], names)
    ]
    return {"matches": found, "count": len(found)}


_PATH: Final = text("path", "file_path filepath filename file file_name name")
_FOLDER: Final = text("path", "directory dir folder directory_path dir_path folder_path")
_OPEN_FOLDER: Final = text(
    "path", "directory dir folder directory_path dir_path folder_path root", default="/"
)
_CONTENT: Final = text("content", "text data contents body value file_content")
_SOURCE: Final = text("source", "source_path src from old_path path from_path src_path")
_TARGET: Final = text(
    "target",
    "destination destination_path dest dst to new_path to_path dest_path target_path new_name",
)


def _writing() -> Iterator[Computation]:
    yield computation("write file, create file, save file, file write", _write, _PATH, _CONTENT)
    yield computation("append file, append to file, file append", _append, _PATH, _CONTENT)
    yield computation("edit file, replace in file", _replace, _PATH, text("old", "old_text old_string search find old_str"),
                      text("new", "new_text new_string replace replacement new_str"))  # fmt: skip
    yield computation("delete file, remove file, file delete, delete directory, remove directory", _delete,
                      text("path", "file_path filepath filename file file_name directory dir folder directory_path"))  # fmt: skip
    yield computation("move file, rename file, move, file move", _move, _SOURCE, _TARGET)
    yield computation("copy file, file copy", _copy, _SOURCE, _TARGET)
    yield computation(
        "create directory, make directory, mkdir, create folder", _make_folder, _FOLDER
    )


def _reading() -> Iterator[Computation]:
    yield computation(
        "read file, file read, get file content, read file content, view file, cat", _read, _PATH
    )
    yield computation(
        "read multiple file, read file", _read_many, texts("paths", "files file_paths")
    )
    yield computation(
        "list directory, list file, list dir, ls, list folder, directory list, list directory content",
        _list,
        _OPEN_FOLDER,
    )
    yield computation("file exist", _exists, _PATH)
    yield computation(
        "file info, get file info, stat, file stat, file metadata, get file metadata", _info, _PATH
    )
    yield computation(
        "search file, find file, file search",
        _search,
        _OPEN_FOLDER,
        text("pattern", "query name glob filename"),
    )


FILE_WRITING: Final[tuple[Computation, ...]] = tuple(_writing())
FILE_READING: Final[tuple[Computation, ...]] = tuple(_reading())
