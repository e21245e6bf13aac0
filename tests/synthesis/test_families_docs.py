"""The commands of docs/families.md work as they stand there, though nothing waits for the acceptance here."""

import re
import shlex
from pathlib import Path

from command_line import Cli

PAGE = Path(__file__).parents[2] / "docs" / "families.md"


def test_every_command_of_the_page_works(tmp_path: Path) -> None:
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 3
    for block in blocks:
        program, *words = shlex.split(block.replace("\\\n", " "))
        assert program == "astra-mcp"
        faster = () if "--no-acceptance" in words else ("--no-acceptance",)
        done = Cli(tmp_path / "home").run(*words, *faster)
        assert done.returncode == 0, done.stderr
