"""What all seeds of learning share: environments, who judges by them, and what teachers left in them."""

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from astra_mcp.trajectory import Trajectory
from gateway.api.client import GatewayClient
from gateway.api.wire import DistractorRequest
from training.rl.core.policy import PolicyLimits
from training.rollout.agents.scripted import OracleAgent

from erring_teacher import ErringTeacher
from learning_data import find_sources, is_solved, play, request_of, synthesise, write
from learning_stages import Judge, Sources

__all__ = [
    "School",
    "Way",
    "add_options",
    "lessons_of",
    "make_verified",
    "open_school",
    "read_options",
]

_SPARE = 8
"""Verified environments beyond what is asked for, in the place of those whose request a held-out one has."""
_WRONG = 0.7
"""Share of calls in which the erring teacher errs."""


@dataclass(frozen=True, slots=True)
class Way:
    """What an arm changes on the way."""

    name: str
    is_corrupted: bool = True
    distractors: DistractorRequest | None = None
    is_mixed: bool = False
    """Every other episode that is imitated has no distractors."""
    without: str | None = None
    """A family that is judged alone."""

    def shows(self, name: str) -> bool:
        """Whether environments of that name are learnt from."""
        return self.without is None or not name.startswith(f"{self.without}-")


@dataclass(frozen=True, slots=True)
class School:
    """What all seeds share."""

    asked: Namespace
    gateway: GatewayClient
    taught: Sources
    trained: Sources
    choosing: Sources
    held_out: Sources
    requests: frozenset[str]
    """Of all environments but those that are imitated."""

    @property
    def limits(self) -> PolicyLimits:
        """Room for twice the calls that a question needs."""
        return PolicyLimits(turns=2 * self.asked.sub_tasks + 1, turn_tokens=32, context_tokens=480)

    def judge(self, sources: Sources, samples: int, distractors: DistractorRequest | None) -> Judge:
        """Give a judge, who plays the same for all seeds and arms."""
        return Judge(
            gateway=self.gateway,
            sources=sources,
            samples=samples,
            seed=self.asked.first_seed,
            limits=self.limits,
            distractors=distractors,
        )


def make_verified(folder: Path, asked: Namespace) -> Mapping[str, Path]:
    """Make what is imitated, and the verified environments; gives the folder of each set."""
    common = ("--language", "en", "--sub-tasks", f"1-{asked.sub_tasks}")
    taught = folder / "taught"
    unverified = ("--no-acceptance", "--count", asked.worlds, "--questions", 8)
    synthesise(taught, *common, *unverified, "--seed", 4 * asked.first_seed)
    made = {"taught": taught}
    for number, name in enumerate(("trained", "choosing", "held-out"), 1):
        made[name] = folder / name
        seed = 4 * asked.first_seed + number
        synthesise(made[name], *common, "--count", asked.environments + _SPARE, "--seed", seed)
    return made


async def open_school(
    asked: Namespace, gateway: GatewayClient, folders: Mapping[str, Path]
) -> School:
    """See that all can be solved, and that nothing is learnt from word for word that is judged by."""
    kept: dict[str, Sources] = {}
    requests: set[str] = set()
    for name in ("held-out", "choosing", "trained"):
        sources = await find_sources(gateway, folders[name], with_further=False)
        played = await play(gateway, OracleAgent(gateway.gold), sources)
        new = [
            source
            for source, trajectory in zip(sources, played, strict=True)
            if is_solved(trajectory) and request_of(trajectory) not in requests
        ]
        kept[name] = new[: asked.environments]
        if len(kept[name]) < asked.environments:
            raise RuntimeError(f"only {len(new)} environments of {name} can be used")
        requests |= {request_of(trajectory) for trajectory in played}
    taught = await find_sources(gateway, folders["taught"], with_further=True)
    return School(
        asked,
        gateway,
        taught,
        kept["trained"],
        kept["choosing"],
        kept["held-out"],
        frozenset(requests),
    )


async def lessons_of(school: School, way: Way, teacher: str) -> Path:
    """Let a teacher play what is imitated; all seeds share the file."""
    file = school.asked.folder / f"{way.name}-{teacher}.jsonl"
    if file.exists():
        return file
    sources = [each for each in school.taught if way.shows(each[0].name)]
    gold = school.gateway.gold
    agent = OracleAgent(gold) if teacher == "oracle" else ErringTeacher(gold, wrong=_WRONG)
    rest = sources[1::2] if way.is_mixed else []
    among = sources[::2] if way.is_mixed else sources
    played = await play(school.gateway, agent, among, distractors=way.distractors)
    played += await play(school.gateway, agent, rest) if rest else []

    def is_kept(trajectory: Trajectory) -> bool:
        whole = is_solved(trajectory) or teacher != "oracle"
        return whole and request_of(trajectory) not in school.requests

    write(file, filter(is_kept, played))
    return file


def add_options(parser: ArgumentParser) -> None:
    """Add the options of a school and of a run in it; ``--arms`` and what else is drawn are the caller's."""
    parser.add_argument("--first-seed", type=int, default=0, help="decides the environments, too")
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--group-size", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--oracle-steps", type=int, default=350, help="of imitating the oracle")
    parser.add_argument("--worlds", type=int, default=240, help="to imitate, of 8 questions each")
    parser.add_argument(
        "--environments", type=int, default=96, help="to learn from, to choose by, and held out"
    )
    parser.add_argument("--sub-tasks", type=int, default=2, help="of a question, at most")
    parser.add_argument("--folder", type=Path, default=Path(".out/learning"), help="kept, to go on")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")


def read_options(parser: ArgumentParser, arms: Collection[str]) -> Namespace:
    """Read the command line; ends the program where an arm is none of these."""
    asked = parser.parse_args()
    asked.arms = asked.arms.split(",")
    unknown = [arm for arm in asked.arms if arm not in arms]
    if unknown:
        parser.error(f"there is no arm {unknown[0]}: the arms are {', '.join(arms)}")
    asked.folder /= f"from-{asked.first_seed}"
    return asked
