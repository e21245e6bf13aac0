"""The process that trains: ``python -m training.rl.verl.driver FILE [--check]``, started by the launcher.

Its last word is a file beside the overrides, where a failure is one of the product's own errors.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import json
import sys
from pathlib import Path

from astra_mcp.errors import AstraError
from training.rl.verl.configuration import compose

__all__ = ["FAULT", "main"]

FAULT = "fault.txt"


def main(file: Path, *, is_dry: bool) -> int:
    """Compose verl's configuration from overrides in a file, and train.

    Args:
        file: A JSON list of overrides.
        is_dry: Stop when verl has checked it.
    """
    import ray  # noqa: PLC0415 - of the extra
    from ray.exceptions import RayTaskError  # noqa: PLC0415

    try:
        config = compose(json.loads(file.read_text(encoding="utf-8")))
        if is_dry:
            return 0
        from verl.trainer.main_ppo import run_ppo  # noqa: PLC0415

        from training.rl.verl.trainer import Runner  # noqa: PLC0415

        run_ppo(config, task_runner_class=ray.remote(Runner))
    except RayTaskError as error:
        return _report(file, error.cause, error)
    except AstraError as error:
        return _report(file, error, error)
    return 0


def _report(file: Path, cause: object, error: Exception) -> int:
    if not isinstance(cause, AstraError):
        raise error
    file.with_name(FAULT).write_text(str(cause), encoding="utf-8")
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), is_dry=sys.argv[2:] == ["--check"]))
