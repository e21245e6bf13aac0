"""The completions server as a process: says where it is, shows its accounts, ends by a signal."""

import json
import signal
from pathlib import Path

import anyio
import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from astra_mcp.completions.__main__ import main

from completions_process import open_completions_process

MESSAGES: list[ChatCompletionMessageParam] = [{"role": "user", "content": "A?"}]


async def test_a_process_plays_recordings_shows_its_accounts_and_ends_by_a_signal(
    tmp_path: Path,
) -> None:
    file = tmp_path / "answers.jsonl"
    row = {"match": {"messages": MESSAGES}, "response": {"content": "a"}}
    file.write_text(json.dumps(row), encoding="utf-8")
    async with open_completions_process(
        "--recordings", str(file), "--model", "tiny", "--fault", "no_choices=0.5"
    ) as server:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="k") as client:
            models = [model.id async for model in client.models.list()]
            heard: list[str | None] = []
            while len(heard) < 3:
                completion = await client.chat.completions.create(model="tiny", messages=MESSAGES)
                heard += [choice.message.content for choice in completion.choices]
        stats = await server.stats()
        server.process.send_signal(signal.SIGTERM)
        with anyio.fail_after(10):
            assert await server.process.wait() == 0

    assert models == ["tiny"]
    assert heard == ["a"] * 3
    (account,) = stats["accounts"].values()
    assert account["asked"] == "A?"
    assert account["answers"] == stats["answers"] == 3
    assert account["requests"] == 3 + account["faults"]["no_choices"]
    assert (stats["in_flight"], stats["most_in_flight"]) == (0, 1)


async def test_a_process_plays_a_policy_by_its_name() -> None:
    async with (
        open_completions_process("--policy", "completions_client:echo") as server,
        openai.AsyncOpenAI(base_url=server.base_url, api_key="k") as client,
    ):
        completion = await client.chat.completions.create(model="m", messages=MESSAGES)
    assert completion.choices[0].message.content == "echo: A?"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policy", "no_such_module:f"], "no_such_module"),
        (["--policy", "completions_client:nothing"], "nothing"),
        (["--policy", "completions_client:KEY"], "no function"),
        (["--policy", "completions_client:echo", "--fault", "sulk=0.1"], "one of rate_limited"),
        (["--policy", "completions_client:echo", "--fault", "hang"], "KIND=SHARE"),
        (
            ["--policy", "completions_client:echo", "--fault", "hang=.1", "--fault", "hang=.2"],
            "--fault hang is given twice, with .1 and .2",
        ),
        (["--recordings", "none.jsonl"], "none.jsonl"),
    ],
)
def test_a_wrong_option_is_explained_without_a_traceback(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(options)
    except SystemExit as stopped:
        code = stopped.code
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert said in shown.err
    assert "Traceback" not in shown.err
