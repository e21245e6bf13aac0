"""docs/datasets.md says what is so: its commands run, and its tables name every field."""

import re
import shlex
from pathlib import Path

from training.export.columns import VERL_COLUMNS
from training.export.exporting import Form

from command_line import Cli

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")


def test_every_command_of_the_page_works(cli: Cli, tmp_path: Path) -> None:
    (block,) = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    for command in block.splitlines():
        program, *arguments = shlex.split(command)
        assert program == "astra-mcp"
        done = cli.run(*arguments)
        assert done.returncode == 0, (command, done.stderr)
    assert len([*(tmp_path / "imported").iterdir()]) == 1
    assert (tmp_path / "rl/README.md").exists()


def test_the_page_names_every_form_and_column() -> None:
    rows = re.findall(r"^\| (.*?) \|", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert {form.value for form in Form} | set(VERL_COLUMNS) - {"extra_info"} <= named
    assert {f".{n}" for n in VERL_COLUMNS["extra_info"]} <= {"." + n.split(".")[-1] for n in named}
