"""Is the decomposition of a question sound: ids, dependencies, hop levels, flags, scenario type?

Works on the question alone; knows neither tools nor files.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from astra_mcp.environments.bundle import Question, ScenarioType, SubTask
from astra_mcp.errors import BundleFault

__all__ = ["decomposition_faults", "depths_of", "scenario_of"]

_MAX_SUB_TASKS = 20
"""Most sub-tasks of a question. Source: ASTRA appendix A.1.2."""
_fault = partial(BundleFault.at, "environment.json")


def decomposition_faults(asked: Question) -> list[BundleFault]:
    """Find every fault of the sub-tasks and of the scenario type.

    Fields that an unverified environment may leave out are checked only where they stand.
    """
    subs = asked.sub_tasks
    faults = [*_id_faults(subs), *_edge_faults(subs)]
    if faults:
        return faults
    depths = depths_of(subs)
    if len(depths) < len(subs):
        stuck = sorted(s.id for s in subs if s.id not in depths)
        return [
            _fault("sub_tasks", f"the dependencies of {stuck} form a cycle; remove one of them")
        ]
    faults = [*_level_faults(subs, depths), *_leaf_faults(subs)]
    if asked.scenario_type is not None:
        faults.extend(_scenario_faults(asked.scenario_type, Counter(depths.values())))
    return faults


def depths_of(sub_tasks: Sequence[SubTask]) -> dict[int, int]:
    """Give each sub-task its hop level: 1 + the deepest of its dependencies.

    Sub-tasks on a cycle, and those behind one, are missing in the answer.
    """
    depths: dict[int, int] = {}
    waiting = list(sub_tasks)
    while waiting:
        ready = [s for s in waiting if all(d in depths for d in s.dependencies)]
        if not ready:
            break
        for sub in ready:
            depths[sub.id] = 1 + max((depths[d] for d in sub.dependencies), default=0)
        waiting = [s for s in waiting if s.id not in depths]
    return depths


def scenario_of(width: Counter[int]) -> ScenarioType:
    """The type of a decomposition. Source: ASTRA sec. 2.2.1.

    Args:
        width: How many sub-tasks stand on each hop level.
    """
    if len(width) == 1:
        is_one = width.total() == 1
        return ScenarioType.SINGLE_HOP if is_one else ScenarioType.PARALLEL_SINGLE_HOP
    is_wide = max(width.values()) > 1
    return ScenarioType.PARALLEL_MULTI_HOP if is_wide else ScenarioType.MULTI_HOP


def _id_faults(subs: Sequence[SubTask]) -> Iterator[BundleFault]:
    seen: dict[int, int] = {}
    for index, sub in enumerate(subs):
        if sub.id in seen:
            message = f"{sub.id} is also the id of sub_tasks[{seen[sub.id]}]; ids must be unique"
            yield _fault(f"sub_tasks[{index}].id", message)
        seen.setdefault(sub.id, index)


def _edge_faults(subs: Sequence[SubTask]) -> Iterator[BundleFault]:
    ids = {s.id for s in subs}
    for index, sub in enumerate(subs):
        field = f"sub_tasks[{index}].dependencies"
        for dependency, count in Counter(sub.dependencies).items():
            if dependency not in ids:
                known = sorted(ids)
                yield _fault(field, f"there is no sub-task {dependency}; the ids are {known}")
            elif dependency == sub.id:
                yield _fault(field, f"sub-task {sub.id} depends on itself; remove it")
            if count > 1:
                yield _fault(field, f"{dependency} stands there {count} times; name it once")


def _level_faults(subs: Sequence[SubTask], depths: Mapping[int, int]) -> Iterator[BundleFault]:
    width = Counter(depths.values())
    for index, sub in enumerate(subs):
        level = depths[sub.id]
        if sub.hop_level not in (None, level):
            message = f"is {sub.hop_level}, but the dependencies make it {level}"
            yield _fault(f"sub_tasks[{index}].hop_level", message)
        is_parallel = width[level] > 1
        if sub.is_parallel not in (None, is_parallel):
            count = width[level] - 1
            stand = "sub-task stands" if count == 1 else "sub-tasks stand"
            others = f"{count or 'no'} other {stand} on hop level {level}"
            message = f"must be {str(is_parallel).lower()}, since {others}"
            yield _fault(f"sub_tasks[{index}].is_parallel", message)


def _leaf_faults(subs: Sequence[SubTask]) -> Iterator[BundleFault]:
    needed = {d: s.id for s in subs for d in s.dependencies}
    for index, sub in enumerate(subs):
        if sub.tool is None and sub.id in needed:
            message = (
                f"only a leaf may go without a tool, but sub-task {needed[sub.id]} needs "
                f"sub-task {sub.id}; give it a tool"
            )
            yield _fault(f"sub_tasks[{index}].tool", message)


def _scenario_faults(scenario: ScenarioType, width: Counter[int]) -> Iterator[BundleFault]:
    total, levels, is_wide = width.total(), len(width), max(width.values()) > 1
    is_single = scenario is ScenarioType.SINGLE_HOP
    is_level = scenario is ScenarioType.PARALLEL_SINGLE_HOP
    is_chain = scenario is ScenarioType.MULTI_HOP
    is_mixed = scenario is ScenarioType.PARALLEL_MULTI_HOP
    several = f"has 2 to {_MAX_SUB_TASKS} sub-tasks"
    for is_broken, rule, found in (
        (is_single and total != 1, "has exactly one sub-task", f"there are {total}"),
        (not is_single and not 2 <= total <= _MAX_SUB_TASKS, several, f"there are {total}"),
        (is_level and levels != 1, "has one hop level", f"there are {levels}"),
        ((is_chain or is_mixed) and levels < 2, "has at least two hop levels", "there is one"),
        (is_chain and is_wide, "never has two sub-tasks on a hop level", "this one has"),
        (is_mixed and not is_wide, "has several sub-tasks on some hop level", "no level has"),
    ):
        if is_broken:
            message = f"{scenario.value} {rule}, but {found}; change one of the two"
            yield _fault("scenario_type", message)
