"""Hugging Face's ``datasets`` loads what is exported, by the card beside it."""

import json
import subprocess
from pathlib import Path

import pytest

from command_line import Cli
from installed_programs import python_of
from published_rows import published_row, write_lines

_PROGRAM = """\
import collections, json, sys
from datasets import load_dataset
rows = load_dataset(sys.argv[1], split="train", cache_dir=sys.argv[2])
told = [row["extra_info"] for row in rows]
count = lambda name: dict(collections.Counter(str(each[name]) for each in told))
print(json.dumps({
    "rows": len(rows), "columns": rows.column_names, "family": count("family"),
    "language": count("language"), "status": count("status"), "first": rows[0]["prompt"],
    "order": [each["index"] for each in told] == list(range(len(rows))),
}))
"""


@pytest.mark.foreign
@pytest.mark.smoke
@pytest.mark.timeout(400)
def test_a_mixed_export_of_a_thousand_rows_is_loaded_with_its_nulls(
    tmp_path: Path, cli: Cli
) -> None:
    python = python_of("datasets-5.2.0", "datasets==5.2.0")
    rows = (published_row(), published_row("潮水几点最高"))
    file = write_lines(tmp_path / "rows.jsonl", *rows)
    assert cli.run("environments", "import", str(file), "--out", "harbour").returncode == 0
    (tmp_path / "astra.toml").write_text('environments = ["harbour"]\n')
    done = cli.run("export", "rl", "--seeds", "50", "--out", "rl/train.parquet", "--json")
    assert done.told["rows"] == 1000

    loaded = subprocess.run(
        [python, "-c", _PROGRAM, tmp_path / "rl", tmp_path / "cache"],
        env={"HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert loaded.returncode == 0, loaded.stderr
    told = json.loads(loaded.stdout)
    assert told["rows"] == 1000
    assert told["order"]
    assert told["family"] == {"None": 1000}
    assert told["status"] == {"verified": 900, "unverified": 100}
    assert told["language"].keys() == {"en", "zh"}
    assert [message["role"] for message in told["first"]] == ["user"]
    assert "agent_name" in told["columns"]
