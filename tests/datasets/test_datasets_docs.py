"""docs/datasets.md says what is so: its commands run, and its tables name every field."""

import re
import shlex
from pathlib import Path
from typing import Any

from astra_mcp.cli.main import load_command
from training.export.columns import CHAT_COLUMNS, VERL_COLUMNS
from training.export.exporting import Form
from training.export.sft_exporting import SftForm

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


def named_in_tables() -> set[str]:
    """What the tables of the page are about."""
    rows = re.findall(r"^\| (.*?) \|", PAGE, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_the_page_names_every_form_and_column_of_trajectories() -> None:
    assert {*SftForm, *CHAT_COLUMNS} <= named_in_tables()


def test_the_page_names_every_filter_of_trajectories() -> None:
    command: Any = load_command("export")
    sft = command.get_command(None, "sft")
    options = {name for parameter in sft.params for name in parameter.opts if name[0] == "-"}
    filters = {cell.split()[0] for cell in named_in_tables() if cell.startswith("--")}
    others = {"--out", "--format", "--split", "--json", "--help"}

    assert filters - {"--format", "--out"} == options - others
    assert {name for name in others - {"--help"} if name not in PAGE} == set()


def test_the_page_names_every_form_and_column() -> None:
    named = named_in_tables()
    assert {form.value for form in Form} | set(VERL_COLUMNS) - {"extra_info"} <= named
    assert {f".{n}" for n in VERL_COLUMNS["extra_info"]} <= {"." + n.split(".")[-1] for n in named}
