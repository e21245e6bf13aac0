"""What native code of a tool tries in order to reach beyond its process, one system call each.

Each is made while a module loads and again in a session, by a host that is root and by one that is not; none
may succeed.
"""

import platform
from typing import NamedTuple

EPERM, EACCES, EINVAL, ENOSYS = 1, 13, 22, 38


class Reach(NamedTuple):
    """One call: its number on both architectures, its arguments, and how the kernel must answer."""

    x86_64: int | None
    aarch64: int | None
    arguments: str = ""
    """Expressions over ``buffer``, ``sibling``, ``server``, ``host`` and ``channel``."""
    refused_with: int = EPERM

    @property
    def number(self) -> int | None:
        """Of this machine; None where its architecture lacks the call."""
        return self.x86_64 if platform.machine() == "x86_64" else self.aarch64


DESCRIPTORS = {
    "send_descriptors": Reach(46, 211, "channel, message, 0"),
    "send_many_messages": Reach(307, 269, "channel, message, 1, 0"),
    "receive_descriptors": Reach(47, 212, "channel, message, 0x40"),
    "receive_many_messages": Reach(299, 243, "channel, message, 1, 0x40, 0"),
    "dup": Reach(32, 23, "channel"),
    "dup2": Reach(33, None, "channel, 5"),
    "dup3": Reach(292, 24, "channel, 5, 0"),
    "duplicate_by_fcntl": Reach(72, 25, "channel, 0, 0"),
    "signal_owner_by_fcntl": Reach(72, 25, "channel, 8, host"),
    "lease_by_fcntl": Reach(72, 25, "channel, 1024, 0"),
    "set_asynchronous": Reach(16, 29, "channel, 0x5452, buffer"),
    "count_unread": Reach(16, 29, "channel, 0x541B, buffer"),
    "pipe": Reach(22, None, "buffer"),
    "pipe2": Reach(293, 59, "buffer, 0"),
    "socketpair": Reach(53, 199, "1, 1, 0, buffer"),
    "unix_socket": Reach(41, 198, "1, 1, 0"),
    "netlink_socket": Reach(41, 198, "16, 3, 0"),
    "kernel_crypto_socket": Reach(41, 198, "38, 5, 0"),
    "virtual_machine_socket": Reach(41, 198, "40, 1, 0"),
    "packet_socket": Reach(41, 198, "17, 3, 0"),
    "accept": Reach(43, 202, "channel, 0, 0"),
    "eventfd": Reach(290, 19, "0, 0"),
    "timerfd": Reach(283, 85, "1, 0"),
    "signalfd": Reach(289, 74, "-1, buffer, 8, 0"),
    "epoll": Reach(291, 20, "0"),
    "inotify": Reach(294, 26, "0"),
    "fanotify": Reach(300, 262, "0, 0"),
    "memfd": Reach(319, 279, "buffer, 0"),
    "secret_memory": Reach(447, 447, "0"),
    "userfaultfd": Reach(323, 282, "0"),
    "descriptor_of_sibling": Reach(438, 438, "3, 3, 0"),
    "own_pidfd": Reach(434, 434, "own, 0"),
    "pidfd_of_sibling": Reach(434, 434, "sibling, 0"),
    "join_again": Reach(32, 23, "0"),
    "join_as_a_template_that_cannot_fork": Reach(32, 23, "11"),
    "pidfd_of_the_host": Reach(55, 209, "channel, 1, 77, buffer, buffer"),
    "credentials_of_the_host": Reach(55, 209, "channel, 1, 17, buffer, buffer"),
    "name_of_the_channel": Reach(51, 204, "channel, buffer, buffer"),
    "ask_for_credentials": Reach(54, 208, "channel, 1, 16, buffer, 4"),
    "large_send_buffer": Reach(54, 208, "channel, 1, 7, buffer, 4"),
    "shut_down_the_channel": Reach(48, 210, "channel, 2"),
    "out_of_band": Reach(44, 206, "channel, buffer, 1, 1, 0, 0"),
    "peek": Reach(45, 207, "channel, buffer, 1, 0x42, 0, 0"),
    "io_uring": Reach(425, 425, "4, buffer"),
    "io_uring_enter": Reach(426, 426, "3, 1, 0, 0, 0, 0"),
    "io_uring_register": Reach(427, 427, "3, 0, 0, 0"),
    "splice": Reach(275, 76, "channel, 0, channel, 0, 1, 0"),
    "tee": Reach(276, 77, "channel, channel, 1, 0"),
    "vmsplice": Reach(278, 75, "channel, buffer, 1, 0"),
    "sendfile": Reach(40, 71, "channel, channel, 0, 1"),
    "message_queue": Reach(240, 180, "buffer, 0x42, 0o600, 0"),
}
"""Descriptors: sent, received, made, or asked about; user-wide limits bound most of them."""

MEMORY = {
    "shared_anonymous": Reach(9, 222, "0, 4096, 3, 0x21, -1, 0"),
    "shared_validated": Reach(9, 222, "0, 4096, 3, 0x23, -1, 0"),
    "shared_channel": Reach(9, 222, "0, 4096, 3, 0x1, channel, 0"),
    "huge_pages_of_the_pool": Reach(9, 222, "0, 1 << 21, 3, 0x40022, -1, 0"),
    "droppable": Reach(9, 222, "0, 4096, 3, 0x28, -1, 0"),
    "executable": Reach(9, 222, "0, 4096, 7, 0x22, -1, 0", EACCES),
    "make_executable": Reach(10, 226, "page, 4096, 5", EACCES),
    "executable_by_key": Reach(329, 288, "page, 4096, 7, 0"),
    "shared_segment": Reach(29, 194, "0, 4096, 0o1600"),
    "attach_segment": Reach(30, 196, "0, 0, 0"),
    "semaphores": Reach(64, 190, "0, 1, 0o1600"),
    "old_message_queue": Reach(68, 186, "0, 0o1600"),
    "read_sibling": Reach(310, 270, "sibling, buffer, 1, buffer, 1, 0"),
    "write_sibling": Reach(311, 271, "sibling, buffer, 1, buffer, 1, 0"),
    "trace_sibling": Reach(101, 117, "16, sibling, 0, 0"),
    "seize_host": Reach(101, 117, "0x4206, host, 0, 0"),
    "compare_with_sibling": Reach(312, 272, "own, sibling, 0, 0, 0"),
    "advise_sibling": Reach(440, 440, "3, buffer, 1, 4, 0"),
    "reap_sibling": Reach(448, 448, "3, 0"),
    "move_pages_of_sibling": Reach(279, 239, "sibling, 0, 0, 0, 0, 0"),
    "migrate_sibling": Reach(256, 238, "sibling, 1, buffer, buffer"),
    "merge_equal_pages": Reach(28, 233, "page, 4096, 12", EINVAL),
    "page_out": Reach(28, 233, "page, 4096, 21", EINVAL),
    "collapse_pages": Reach(28, 233, "page, 4096, 25", EINVAL),
    "wake_by_a_page_of_the_library": Reach(202, 98, "library, 1, 2147483647, 0, 0, 0"),
    "wait_by_a_page_of_the_library": Reach(202, 98, "library, 0, 0, 0, 0, 0"),
    "requeue_between_processes": Reach(202, 98, "library, 4, 1, 1, library, 0"),
    "wait_on_many": Reach(449, 449, "buffer, 1, 0, 0, 0"),
    "wake_new_style": Reach(454, 454, "library, 1, 1, 2"),
    "lock_memory": Reach(149, 228, "page, 4096"),
    "lock_all_memory": Reach(151, 230, "1"),
    "lock_on_fault": Reach(325, 284, "page, 4096, 1"),
    "memory_policy": Reach(238, 237, "0, 0, 0"),
    "barrier_on_all_processors": Reach(324, 283, "1, 0, 0"),
}
"""Memory: shared, of others, or taken from a pool of all."""

OTHERS = {
    "add_key": Reach(248, 217, "buffer, buffer, buffer, 1, -4"),
    "request_key": Reach(249, 218, "buffer, buffer, 0, -4"),
    "search_keyring_of_the_user": Reach(250, 219, "10, -4, buffer, buffer, 0"),
    "new_session_keyring": Reach(250, 219, "1, 0"),
    "limits_of_sibling": Reach(302, 261, "sibling, 7, buffer, 0"),
    "own_limits": Reach(302, 261, "0, 7, buffer, 0"),
    "own_limits_old_style": Reach(160, 164, "7, buffer"),
    "priority_of_sibling": Reach(141, 140, "0, sibling, 19"),
    "own_priority": Reach(141, 140, "0, 0, 0"),
    "processors_of_sibling": Reach(203, 122, "sibling, 8, buffer"),
    "real_time_scheduling": Reach(144, 119, "0, 1, buffer"),
    "deadline_scheduling": Reach(314, 274, "0, buffer, 0"),
    "disk_priority": Reach(251, 30, "1, 0, 0"),
    "kill_sibling": Reach(62, 129, "sibling, 9"),
    "kill_group_of_sibling": Reach(62, 129, "-sibling, 9"),
    "kill_all": Reach(62, 129, "-1, 9"),
    "kill_server": Reach(62, 129, "server, 9"),
    "stop_host": Reach(62, 129, "host, 19"),
    "kill_thread": Reach(200, 130, "sibling, 9"),
    "kill_thread_of_group": Reach(234, 131, "sibling, sibling, 9"),
    "queue_signal": Reach(129, 138, "sibling, 34, buffer"),
    "queue_signal_to_thread": Reach(297, 240, "own, own, 34, buffer"),
    "signal_by_pidfd": Reach(424, 424, "3, 9, 0, 0"),
    "timer_with_signal": Reach(222, 107, "1, 0, buffer"),
    "fork": Reach(56, 220, "0x1200011, 0, 0, 0, 0"),
    "fork_old_style": Reach(57, None, ""),
    "vfork": Reach(58, None, ""),
    "fork_without_a_signal": Reach(56, 220, "0, 0, 0, 0, 0"),
    "thread": Reach(56, 220, "0x3d0f00, 0, 0, 0, 0"),
    "clone_into_a_namespace": Reach(56, 220, "0x10000011, 0, 0, 0, 0"),
    "clone_of_new_style": Reach(435, 435, "buffer, 88", ENOSYS),
    "execute": Reach(59, 221, "buffer, 0, 0"),
    "execute_at": Reach(322, 281, "channel, buffer, 0, 0, 0x1000"),
    "leave_session": Reach(112, 157, ""),
    "leave_group": Reach(109, 154, "0, 0"),
    "new_namespace": Reach(272, 97, "0x10000000"),
    "enter_namespace": Reach(308, 268, "3, 0"),
    "outlive_the_template": Reach(157, 167, "1, 0, 0, 0, 0"),
    "become_traceable": Reach(157, 167, "4, 1, 0, 0, 0"),
    "adopt_orphans": Reach(157, 167, "36, 1, 0, 0, 0"),
    "another_filter_by_prctl": Reach(157, 167, "22, 2, buffer, 0, 0"),
    "another_filter": Reach(317, 277, "1, 8, buffer"),
    "wait_for_others": Reach(61, 260, "-1, 0, 1, 0"),
    "children_not_reaped": Reach(13, 134, "17, buffer, 0, 8"),
    "landlock_of_its_own": Reach(444, 444, "buffer, 8, 0"),
    "load_a_program_into_the_kernel": Reach(321, 280, "5, buffer, 48"),
    "count_events_of_all": Reach(298, 241, "buffer, -1, 0, -1, 0"),
    "flush_all_disks": Reach(162, 81, ""),
    "kernel_log": Reach(103, 116, "3, buffer, 16"),
    "name_of_the_machine": Reach(63, 160, "buffer"),
    "load_of_the_machine": Reach(99, 179, "buffer"),
    "randomness_of_the_kernel": Reach(318, 278, "buffer, 16, 0"),
    "set_the_clock": Reach(227, 112, "0, buffer"),
    "personality": Reach(135, 92, "0"),
    "become_another_user": Reach(105, 146, "0"),
    "capabilities": Reach(126, 91, "buffer, buffer"),
    "open_by_handle": Reach(304, 265, "3, buffer, 0"),
    "open_of_new_style": Reach(437, 437, "-100, buffer, buffer, 24"),
    "open_root": Reach(257, 56, "-100, buffer, 0, 0", EACCES),
    "mount": Reach(165, 40, "buffer, buffer, buffer, 0, 0"),
    "new_file_system": Reach(430, 430, "buffer, 0"),
    "change_root": Reach(161, 51, "buffer"),
}
"""Keys, limits, priorities, signals and processes of others, and the machine as a whole."""

TABLE = DESCRIPTORS | MEMORY | OTHERS

_PROLOGUE = """
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
space = ctypes.create_string_buffer(b"/", 4096)
buffer = ctypes.addressof(space)
pages = mmap.mmap(-1, 8192, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
page = ctypes.addressof(ctypes.c_char.from_buffer(pages)) & ~4095
library = ctypes.cast(libc.getpid, ctypes.c_void_p).value & ~4095
channel, own = 3, os.getpid()

class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]

class Message(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_void_p), ("name_size", ctypes.c_uint32), ("parts", ctypes.c_void_p),
        ("num_parts", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_size", ctypes.c_size_t),
        ("flags", ctypes.c_int), ("sent", ctypes.c_uint32),
    ]

part = Part(buffer, 1)
rights = (ctypes.c_int * 257)(*([channel] * 257))
ctypes.c_size_t.from_buffer(rights).value = 16 + 4 * 253  # then SOL_SOCKET, SCM_RIGHTS, 253 descriptors
rights[2], rights[3] = 1, 1
whole = Message(0, 0, ctypes.addressof(part), 1, ctypes.addressof(rights), 16 + 4 * 253, 0, 0)
message = ctypes.addressof(whole)

def reach(number, arguments):
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in padded))
    if number in FORKS and result == 0 and os.getpid() != own:
        os._exit(0)
    return 0 if result >= 0 else ctypes.get_errno()
"""


def module(*, host: int, server: int, sibling: int) -> str:
    """Source text of a module that tries all of it while it loads, and again at each call of ``attack``."""
    rows = "".join(
        f"    {name!r}: ({reach.number}, lambda: ({reach.arguments}{',' if reach.arguments else ''})),\n"
        for name, reach in TABLE.items()
        if reach.number is not None
    )
    return (
        f"{_PROLOGUE}\n"
        f"host, server, sibling = {host}, {server}, {sibling}\n"
        f"FORKS = {{56, 57, 58, 220}}\n"
        f"ATTEMPTS = {{\n{rows}}}\n"
        "def attack():\n"
        "    return {name: reach(number, arguments()) for name, (number, arguments) in ATTEMPTS.items()}\n"
        "LOADING = attack()\n"
        "def while_loading(): return LOADING\n"
    )
