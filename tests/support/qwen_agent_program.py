"""Qwen-Agent's ``Assistant`` as its users run it; started with the interpreter that has Qwen-Agent.

Reads ``{"tools", "model", "question"}`` from standard input and writes the messages of the run and the
tools of the agent as the last line of standard output. Imports nothing of this project.
"""

# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import json
import sys

from qwen_agent.agents import Assistant

task = json.load(sys.stdin)
agent = Assistant(llm=task["model"], function_list=task["tools"])
messages = []
for messages in agent.run([{"role": "user", "content": task["question"]}]):  # noqa: B007 - the last counts
    pass
print(json.dumps({"messages": messages, "tools": list(agent.function_map)}))  # noqa: T201
