"""Has verl's worker and the native trainer learn the same lessons, in a process of verl's environment.

``python -m learned_by_verl FOLDER MODEL`` prints how six rows are shared by two devices that compute two at
once, and what was seen, for each thing that may become of an optimizer.
"""

# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedFunctionDecorator=false

import json
import sys
from pathlib import Path
from typing import Any

import torch

from training.evaluation.sampler import limits_of_model
from training.rl.native.generation import limits_of_episode
from training.rl.native.lesson_updates import lesson_figures, lesson_updates
from training.rl.native.supervision import learn_lessons
from training.rl.verl.configuration import Places, compose, overrides_of
from training.rl.verl.orders.learner import LearningWorker, share_of
from training.rl.verl.settings import VerlSettings
from training.sft.model import load_model, make_optimizer, model_config
from training.sft.settings import TrainingSettings
from training.signals.supervision.lessons import Lesson

_LESSONS = [
    Lesson((5, 9, 14, 3), (False, True, True, True), "gold"),
    Lesson((7, 8, 30, 31, 32, 11), (False, False, True, False, True, True), "review"),
    Lesson((12, 4, 4), (False, False, True), "analysis"),
]


def settings_of(folder: Path, model: str, kind: str) -> VerlSettings:
    """Give those of a run in which that becomes of the optimizer."""
    return VerlSettings.model_validate(
        {
            "model": model,
            "out": folder / kind,
            "data": [{"environments": ["any"]}],
            "training": {
                "learning_rate": 1e-3,
                "groups": 2,
                "group_size": 2,
                "weight_decay": 0,
                "micro_batch_size": 2,
            },
            "verl": {"device": "cpu", "gradient_checkpointing": False},
            "signals": {
                "schedule": {"first": 1},
                "supervision": {"learning_rate": 1e-2, "batch_size": 2, "optimizer": kind},
            },
        }
    )


def seen(folder: Path, model: str, kind: str) -> dict[str, Any]:
    """Learn with both: a phase whose optimizer goes on, and behind it one as it is asked for."""
    settings = settings_of(folder, model, kind)
    limits = limits_of_episode(settings, limits_of_model(model_config(model)))
    told = overrides_of(settings, limits, Places(folder), model)
    worker: Any = LearningWorker(config=compose(told).actor_rollout_ref, role="actor")
    worker.init_model()
    native = load_model(model, gradient_checkpointing=False).eval()
    asked = TrainingSettings(learning_rate=1e-3, betas=settings.training.betas, weight_decay=0.0)
    optimizer = make_optimizer(native, asked)
    figures: dict[str, list[dict[str, float]]] = {"verl": [], "native": []}
    for step, phase in ((1, settings_of(folder, model, "keep")), (2, settings)):
        updates = lesson_updates(phase, _LESSONS, step)
        rows = [(each.rate, [(x.ids, x.mask) for x in each.lessons]) for each in updates]
        how = phase.signals.supervision.optimizer
        losses = worker.learn_lessons(rows, how, 2, is_renewed=False)
        figures["verl"].append(lesson_figures(phase, updates, losses, step))
        found = learn_lessons(
            phase,
            native,
            optimizer,
            lambda: make_optimizer(native, asked),
            lessons=_LESSONS,
            step=step,
        )
        figures["native"].append(found)
    own = worker.actor.engine.optimizer
    return {
        "figures": figures,
        "updates": {"verl": _updates(own), "native": _updates(optimizer)},
        "rates": [group["lr"] for group in own.param_groups],
        "loss": worker.actor.loss_fn.func.__name__,
    }


def _updates(optimizer: torch.optim.Optimizer) -> list[int]:
    """How many an optimizer remembers."""
    return sorted({int(state["step"]) for state in optimizer.state.values()})


if __name__ == "__main__":
    torch.set_num_threads(1)
    place, start = Path(sys.argv[1]), sys.argv[2]
    rows = [(lesson.ids, lesson.mask) for lesson in _LESSONS]
    found: dict[str, Any] = {"shares": [share_of([*rows, *rows], at, 2, 2) for at in range(2)]}
    found |= {kind: seen(place, start, kind) for kind in ("fresh", "keep", "apart")}
    sys.stdout.write(json.dumps(found))
