"""``astra-mcp environments import``: rows of RL data become bundles, or are named with the reason."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from astra_mcp.compose.bundles import open_bundle_sandbox
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.creation import write_bundle
from astra_mcp.environments.loading import load_bundle, parse_bundle
from astra_mcp.environments.rows.bundles import name_of_row, texts_of_row
from astra_mcp.environments.rows.row import Row
from astra_mcp.errors import BundleError, BundleFault, ToolCodeError
from astra_mcp.report.console import out, say
from astra_mcp.sandbox import Sandbox
from astra_mcp.types import JsonObject
from training.export.row_files import read_rows

__all__ = ["ImportedRows", "import_rows", "print_imported_rows"]

_MAX_SHOWN = 20

_Try = Callable[[Bundle], Awaitable[None]]
"""Executes the module of a bundle's tools once, as serving it would."""


@dataclass(slots=True)
class ImportedRows:
    """What became of the rows of a file."""

    names: dict[str, bool] = field(default_factory=dict[str, bool])
    """Each environment, and whether its bundle was written now."""
    repeated: int = 0
    """Rows of the content of an earlier one."""
    errors: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Rows that were rejected, by line."""

    def as_json(self) -> JsonObject:
        """Render for programs."""
        written = sum(self.names.values())
        return {
            "rows": len(self.names) + self.repeated + len(self.errors),
            "written": written,
            "unchanged": len(self.names) - written,
            "repeated": self.repeated,
            "rejected": len(self.errors),
            "environments": [*self.names],
            "errors": [{"line": line, "reason": reason} for line, reason in self.errors],
        }


async def import_rows(file: Path, folder: Path, license: str, trusted: bool) -> ImportedRows:
    """Write the bundles of a file's rows into a folder; each is written whole or not at all.

    Args:
        file: Lines of JSON or Parquet.
        folder: Made where it is missing.
        license: Of the data.
        trusted: Allow tool code to run unsandboxed where this machine has no sandbox.

    Raises:
        ConfigError: The file cannot be read, or the folder not be written.
        SandboxUnavailableError: This machine cannot isolate the code, and it is not trusted.
    """
    done = ImportedRows()
    async with _open_trial(load_settings(), trusted=trusted) as try_module:
        with say.bars(transient=True) as progress:
            task = progress.add_task(file.name, total=None)
            for line, columns in read_rows(file):
                if isinstance(columns, str):
                    done.errors.append((line, columns))
                    continue
                try:
                    await _import_row(Row.parse(columns), folder, license, try_module, done)
                except BundleError as error:
                    done.errors.append((line, "; ".join(error.faults)))
                except ToolCodeError as error:
                    done.errors.append((line, str(error)))
                progress.update(task, completed=line)
    return done


async def _import_row(
    row: Row, folder: Path, license: str, try_module: _Try, done: ImportedRows
) -> None:
    name = name_of_row(row)
    if name in done.names:
        done.repeated += 1
        return
    texts = texts_of_row(row, license=license)
    bundle = parse_bundle(name, texts)
    is_there = (folder / name).exists()
    if not is_there:
        await try_module(bundle)
        write_bundle(name, texts, folder)
    elif load_bundle(folder / name).content_hash != bundle.content_hash:
        words = f"{folder / name} is there with other content; delete it, or choose another folder"
        raise BundleError(name, [BundleFault(words)])
    done.names[name] = not is_there


@asynccontextmanager
async def _open_trial(settings: Settings, *, trusted: bool) -> AsyncGenerator[_Try]:
    """Open a sandbox once there is code to try; it names whose code needs trust where it has no layers."""
    opened: list[Sandbox] = []
    async with AsyncExitStack() as stack:

        async def try_module(bundle: Bundle) -> None:
            if not opened:
                opening = open_bundle_sandbox(settings, [bundle], trusted=trusted)
                opened.append(await stack.enter_async_context(opening))
            document = bundle.document
            await opened[0].load(bundle.code, load_seed=document.load_seed, clock=document.clock)

        yield try_module


def print_imported_rows(done: ImportedRows, folder: Path) -> None:
    """Show what became of the rows; the first rejected ones on standard error."""
    told = done.as_json()
    counts = ", ".join(f"{told[k]} {k}" for k in ("written", "unchanged", "repeated", "rejected"))
    out.print(f"{told['rows']} rows: {counts}")
    if done.names:
        out.print(f'to serve them, name the folder in astra.toml: environments = ["{folder}"]')
    for line, reason in done.errors[:_MAX_SHOWN]:
        say.print(f"line {line}: {reason}", style="red")
    if len(done.errors) > _MAX_SHOWN:
        say.print(f"and {len(done.errors) - _MAX_SHOWN} more; --json names all", style="red")
