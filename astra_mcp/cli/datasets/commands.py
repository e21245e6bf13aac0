"""``astra-mcp export``: environments and trajectories as files for others."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from astra_mcp.cli.datasets.sft import sft
from astra_mcp.compose.bundles import find_bundle_folders, find_bundles, unknown_environment
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.environments.archive.mcpb import archive_of
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
from astra_mcp.report.console import out, print_json, report_errors, say
from training.export.exporting import Form, export_rl
from training.export.readme import CARD
from training.export.row_files import new_file

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, help="Write environments and trajectories as files for others."
)
app.command("sft")(sft)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command("rl")
def rl(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Environments, bundles or folders of bundles; by default all that are published.",
        ),
    ] = None,
    *,
    file: Annotated[
        Path, typer.Option("--out", help="The file to write: .parquet, or .jsonl with rows.")
    ],
    form: Annotated[
        Form, typer.Option("--format", help="As verl reads rows, or as ASTRA-RL-1k has them.")
    ] = Form.VERL,
    seeds: Annotated[
        int, typer.Option(min=1, help="With verl: rows of each environment, seeds 0, 1, ...")
    ] = 1,
    split: Annotated[str, typer.Option(help="What the rows are for: train, test.")] = "train",
    as_json: Json = False,
) -> None:
    """Write rows for reinforcement learning, and a data set card beside them."""
    with report_errors():
        bundles = _find_all(load_settings(), names)
        done = export_rl(bundles, user_path(file), form, num_seeds=seeds, split=split)
    if as_json:
        print_json({"rows": done.num_rows, "environments": len(bundles), "file": str(file)})
    else:
        out.print(f"wrote {file}: {done.num_rows} rows of {len(bundles)} environments")
    if done.card is None:
        say.print(f"{file.parent / CARD} is not ours and stays as it is", style="yellow")


@app.command("mcpb")
def mcpb(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, or the path of a bundle.")],
    *,
    file: Annotated[Path, typer.Option("--out", help="The file to write, which ends in .mcpb.")],
    as_json: Json = False,
) -> None:
    """Write an environment as an MCPB archive, which desktop clients install.

    It runs offline in plain Python 3.11 or later, without a sandbox: whoever
    installs it trusts its code.
    """
    with report_errors():
        (bundle, *others) = _find_all(load_settings(), [name])
        if others:
            raise ConfigError(f"{name} holds several bundles: name one, an archive holds no more")
        if file.suffix != ".mcpb":
            raise ConfigError(f"{file} must end in .mcpb")
        packed = archive_of(bundle)
        with new_file(user_path(file)) as made:
            made.write_bytes(packed)
    if as_json:
        print_json({"name": bundle.name, "file": str(file), "bytes": len(packed)})
    else:
        out.print(f"wrote {file}: {bundle.name}, {len(packed)} bytes")


def _find_all(settings: Settings, names: Sequence[str] | None) -> list[Bundle]:
    """Find environments by name, bundles by path, and all bundles of a folder."""
    published = find_bundle_folders(settings)
    found: dict[str, Bundle] = {}
    for name in names or sorted(published):
        path = user_path(Path(name))
        if names and (path.name != name or path.is_dir()):
            bundles = [load_bundle(folder) for folder in find_bundles(path)]
        elif name in published:
            bundles = [load_bundle(published[name])]
        else:
            raise unknown_environment(name, published)
        for bundle in bundles:
            if found.setdefault(bundle.name, bundle).content_hash != bundle.content_hash:
                raise ConfigError(f"two different environments are named {bundle.name!r}")
    return [*found.values()]
