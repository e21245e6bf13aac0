"""Which episodes a run plays, and the seed of each."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from astra_mcp.seeds import derive_seed
from gateway.api.wire import (
    DistractorRequest,
    EpisodeRequest,
    FailureRequest,
    SourceEnvironment,
    SourceServers,
    SourceTask,
)
from training.rollout.users.user import Goal

__all__ = ["Rollout", "Source", "plan_rollouts"]

Source = SourceEnvironment | SourceTask | SourceServers
"""What episodes are opened of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One episode to play."""

    source: Source
    version: str | None = None
    """Version of the environment, for the record; None for another kind of source."""
    root_seed: int
    index: int
    """Number of the episode among those of its source; its samples share it."""
    sample: int = 0
    """Number of the episode among those with its source and seed."""
    distractors: DistractorRequest | None = None
    """None, like the next: the gateway decides."""
    failures: FailureRequest | None = None
    system_prompt: str | None = None
    """Standing instructions before the question; the gateway does not hear of them."""
    goal: Goal | None = None
    """What a user who speaks wants, where more of it is known than the source's prompt."""
    options: str | None = None
    """What was asked for with every episode of the run, as JSON text of an object, for the record."""
    labels: dict[str, str] = field(default_factory=dict[str, str])
    run: str | None = None
    """Id of the run that it belongs to, for the episode's record alone."""

    @property
    def environment(self) -> str | None:
        """Name of the environment that is played, where it is one."""
        return self.source.name if isinstance(self.source, SourceEnvironment) else None

    @property
    def question(self) -> str | None:
        """Id of the further question that is asked; None is the main one."""
        return self.source.question if isinstance(self.source, SourceEnvironment) else None

    @property
    def seed(self) -> int:
        """The episode's own seed, in [0, 2**63)."""
        return derive_seed(self.root_seed, *_names_of(self.source), self.index) >> 1

    @property
    def agent_seed(self) -> int:
        """Decides the agent's random choices: samples differ in them, and in nothing else."""
        return derive_seed(self.seed, "sample", self.sample) >> 1 if self.sample else self.seed

    @property
    def group(self) -> str:
        """Names the samples of one source under one seed, and no other episodes."""
        return f"{self.seed:016x}"

    @property
    def request(self) -> EpisodeRequest:
        """What the gateway is asked for."""
        return EpisodeRequest(
            source=self.source,
            seed=self.seed,
            distractors=self.distractors,
            failures=self.failures,
            labels=self.labels if self.run is None else {"run": self.run, **self.labels},
        )


def plan_rollouts(
    sources: Iterable[tuple[Source, str | None]],
    *,
    num_episodes: int,
    num_samples: int = 1,
    root_seed: int,
    distractors: DistractorRequest | None = None,
    failures: FailureRequest | None = None,
    system_prompt: str | None = None,
    options: str | None = None,
) -> list[Rollout]:
    """Plan the episodes of several sources, those of one source together.

    Args:
        sources: Each with the version of its environment, where it is one.
        num_episodes: Episodes of each source, each with a seed of its own.
        num_samples: So often each of them is played under that seed.
        root_seed: Seed of the run; each episode has its own, derived by source and number.
        distractors: Asked for with each episode, like the next.
        failures: Asked for.
        system_prompt: First message of each episode.
        options: See :attr:`Rollout.options`.
    """
    return [
        Rollout(
            source=source,
            version=version,
            root_seed=root_seed,
            index=index,
            sample=sample,
            distractors=distractors,
            failures=failures,
            system_prompt=system_prompt,
            options=options,
        )
        for source, version in sources
        for index in range(num_episodes)
        for sample in range(num_samples)
    ]


def _names_of(source: Source) -> tuple[str, ...]:
    """Name a source for its seeds; two sources never have the same names."""
    if isinstance(source, SourceEnvironment):
        return (source.name,) if source.question is None else (source.name, source.question)
    if isinstance(source, SourceTask):
        return ("task", source.id, "")
    return ("servers", *source.names, source.prompt or "")
