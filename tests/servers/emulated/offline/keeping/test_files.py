"""File servers: what was written is read, listed, moved and gone, as on a disk."""

import posixpath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulated_worlds import World, document_of, spec, text

FILES = document_of(
    spec("write_file", path=text, content=text),
    spec("append_file", path=text, content=text),
    spec("read_file", path=text),
    spec("delete_file", path=text),
    spec("move_file", source=text, destination=text),
    spec("create_directory", path=text),
    spec("list_directory", path=text),
    spec("get_file_info", path=text),
    spec("search_files", path=text, pattern=text),
)
PATHS = st.sampled_from(("/w/a.txt", "/w/b.txt", "/w/in/c.txt"))
MOVES = st.lists(
    st.tuples(st.integers(0, 3), PATHS, PATHS, st.text("xyz", max_size=3)), max_size=14
)


@given(moves=MOVES)
@settings(max_examples=30)
def test_files_are_those_of_a_dictionary(moves: list[tuple[int, str, str, str]]) -> None:
    world, model = World(FILES), dict[str, str]()
    world.call("create_directory", path="/w/in")
    for move, path, other, content in moves:
        if move == 0:
            world.call("write_file", path=path, content=content)
            model[path] = content
        elif move == 1:
            world.call("append_file", path=path, content=content)
            model[path] = model.get(path, "") + content
        elif path not in model:
            tool, arguments = (
                ("delete_file", {"path": path})
                if move == 2
                else ("move_file", {"source": path, "destination": other})
            )
            assert "not found" in world.refusal(tool, **arguments)
        elif move == 2:
            world.call("delete_file", path=path)
            del model[path]
        elif other not in model:
            world.call("move_file", source=path, destination=other)
            model[other] = model.pop(path)
    for path, content in model.items():
        assert world.call("read_file", path=path)["content"] == content
        assert world.call("get_file_info", path=path)["size"] == len(content)
    for folder in ("/w", "/w/in"):
        names = {
            e["name"]
            for e in world.call("list_directory", path=folder)["entries"]
            if e["type"] == "file"
        }
        assert names == {posixpath.basename(p) for p in model if posixpath.dirname(p) == folder}
    assert world.call("search_files", path="/w", pattern="*.txt")["matches"] == sorted(model)


def test_what_a_list_shows_can_be_read_and_what_it_does_not_show_is_not_there() -> None:
    world = World(FILES)
    listed = world.call("list_directory", path="/srv/docs")
    assert listed["count"] == len(listed["entries"]) > 0
    for entry in listed["entries"]:
        content = world.call("read_file", path=f"/srv/docs/{entry['name']}")["content"]
        assert len(content.encode()) == entry["size"]
    assert (
        world.refusal("read_file", path="/srv/docs/never.bin")
        == "File not found: /srv/docs/never.bin"
    )
    assert world.call("list_directory", path="/srv/docs") == listed


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 2000])
def test_a_path_that_is_none_is_refused(path: str) -> None:
    assert "Invalid path" in World(FILES).refusal("write_file", path=path, content="x")


def test_paths_are_the_same_however_they_are_written() -> None:
    world = World(FILES)
    world.call("write_file", path="./d/../d/n.txt", content="one")
    for path in ("d/n.txt", "/d/n.txt", "/../d//n.txt", "d\\n.txt"):
        assert world.call("read_file", path=path)["content"] == "one"
    assert "not a directory" in world.refusal("write_file", path="d/n.txt/m.txt", content="x")
    assert "is a directory" in world.refusal("write_file", path="d", content="x")


def test_files_of_a_repository_elsewhere_are_not_those_of_a_disk() -> None:
    taken: Any = {"owner": text, "repo": text, "path": text, "content": text}
    made: Any = spec("create_file", "", optional=(), **taken)
    world = World(document_of(made, spec("read_file", path=text)))
    answer: Any = world.ask("create_file", owner="a", repo="b", path="c", content="d")
    assert "bytes_written" not in answer.value
