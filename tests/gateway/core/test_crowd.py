"""Connections beyond a number: those that nobody waits at make room, the oldest first."""

from dataclasses import dataclass

from astra_mcp.serving.http.crowd import Crowd
from gateway.machine.files import most_connections


@dataclass(eq=False)
class Guest:
    """A connection that only says how it is."""

    is_idle: bool = True
    is_sending: bool = False
    has_left: bool = False

    def leave(self) -> None:
        self.has_left = True


def test_a_silent_connection_makes_room_before_one_that_was_used() -> None:
    crowd = Crowd(3)
    used, first, second = Guest(), Guest(), Guest()
    assert all(crowd.add(guest) for guest in (used, first, second))
    crowd.note_use(used)
    assert crowd.add(Guest())
    assert [g.has_left for g in (used, first, second)] == [False, True, False]
    assert len(crowd) == 3


def test_the_connection_that_was_left_alone_longest_makes_room() -> None:
    crowd = Crowd(2)
    old, young = Guest(), Guest()
    for guest in (old, young):
        crowd.add(guest)
        crowd.note_use(guest)
    crowd.note_use(old)
    assert crowd.add(Guest())
    assert (old.has_left, young.has_left) == (False, True)


def test_at_last_the_one_that_has_been_sending_longest_makes_room() -> None:
    crowd = Crowd(3)
    waiting = Guest(is_idle=False)
    slow, slower = Guest(is_idle=False, is_sending=True), Guest(is_idle=False, is_sending=True)
    for guest in (waiting, slower, slow):
        crowd.add(guest)
        crowd.note_use(guest)
    assert crowd.add(Guest())
    assert [g.has_left for g in (waiting, slower, slow)] == [False, True, False]


def test_no_connection_is_closed_that_somebody_waits_at() -> None:
    crowd = Crowd(2)
    waiting = [Guest(is_idle=False), Guest(is_idle=False)]
    for guest in waiting:
        crowd.add(guest)
        crowd.note_use(guest)
    assert not crowd.add(Guest())
    assert not any(guest.has_left for guest in waiting)
    crowd.remove(waiting[0])
    assert crowd.add(Guest())


def test_without_a_limit_all_find_a_place() -> None:
    crowd = Crowd()
    assert all(crowd.add(Guest()) for _ in range(100))


def test_connections_get_a_part_of_the_files_that_are_kept() -> None:
    assert most_connections(1024) == 213
    assert most_connections(3) == 1
    assert most_connections(-1) is None
