"""Source code of a thing that a call names, and the difference that a change makes."""

import re
from typing import Final

from servers.emulated.offline.payloads.asking import Asked
from servers.emulated.offline.payloads.trees import files_of
from servers.emulated.offline.result_lists import Answer
from servers.emulated.verbs import Verb

__all__ = ["code_in", "diff_told", "source_told"]

_CODE: Final = frozenset(("source", "code", "decompile", "decompiled", "implementation", "function", "method", "class", "snippet",
                          "disassemble", "assembly", "example", "examples", "include", "program", "demo", "boilerplate"))  # fmt: skip
_SAID: Final = re.compile(
    r"source code|decompil|\bcode (?:of|for|example)|disassembl|implementation of|example|component.*source|snippet"
)
_NAMES: Final = ("function_name", "name", "function", "method_name", "symbol", "class_name", "class", "component_name", "hook_name",
                 "component", "program_name", "include_name", "program", "address", "function_address", "screen_name", "object_name",
                 "module_name", "path", "file_path", "identifier", "interface_name", "service_name", "library", "util_name")  # fmt: skip
_LANGUAGES: Final = (
    ("abap", ("abap",)), ("c", ("ghidra", "ida", "decompile", "binary", "decompiled", "radare2")),
    ("solidity", ("contract", "solidity", "etherscan", "evm")),
    ("tsx", ("react", "shadcn", "component", "components", "vue", "native", "screen", "hook", "ui", "magicui", "heroui")), ("rust", ("rust",)),
    ("go", ("golang",)), ("java", ("java", "android", "jadx")), ("zig", ("zig",)),
)  # fmt: skip
_WRITTEN: Final = {
    "python": 'def {snake}(items, *, limit=None):\n    """Return the items that are valid, in their order."""\n    kept = []\n    for item in items:\n        if item is None:\n            continue\n        kept.append(item)\n        if limit is not None and len(kept) >= limit:\n            break\n    return kept\n',
    "c": "\nundefined8 {name}(char *param_1, int param_2)\n\n{{\n  int iVar1;\n  size_t sVar2;\n  \n  if (param_1 == (char *)0x0) {{\n    return 0xffffffff;\n  }}\n  sVar2 = strlen(param_1);\n  if ((int)sVar2 != param_2) {{\n    return 0;\n  }}\n  iVar1 = FUN_{address}(param_1, param_2);\n  if (iVar1 == 0) {{\n    return 1;\n  }}\n  return 0;\n}}\n",
    "abap": "FUNCTION {name}.\n*\"----------------------------------------------------------------------\n*\"  IMPORTING\n*\"     VALUE(IV_ID) TYPE  CHAR10\n*\"  EXPORTING\n*\"     VALUE(ES_RESULT) TYPE  BAPIRET2\n*\"  EXCEPTIONS\n*\"     NOT_FOUND\n*\"----------------------------------------------------------------------\n  DATA: lv_count TYPE i.\n\n  IF iv_id IS INITIAL.\n    RAISE not_found.\n  ENDIF.\n\n  lv_count = lv_count + 1.\n  es_result-type = 'S'.\n  es_result-message = 'Processed'.\nENDFUNCTION.\n",
    "abap_class": "CLASS {name} DEFINITION\n  PUBLIC\n  FINAL\n  CREATE PUBLIC.\n\n  PUBLIC SECTION.\n    METHODS get_text\n      IMPORTING iv_id          TYPE char10\n      RETURNING VALUE(rv_text) TYPE string.\nENDCLASS.\n\nCLASS {name} IMPLEMENTATION.\n  METHOD get_text.\n    rv_text = |Entry {{ iv_id }}|.\n  ENDMETHOD.\nENDCLASS.\n",
    "abap_report": "*&---------------------------------------------------------------------*\n*& {name}\n*&---------------------------------------------------------------------*\nDATA: lt_items TYPE STANDARD TABLE OF t001.\n\nSELECT * FROM t001 INTO TABLE lt_items UP TO 50 ROWS.\n\nLOOP AT lt_items INTO DATA(ls_item).\n  WRITE: / ls_item-bukrs, ls_item-butxt.\nENDLOOP.\n",
    "hook": "import {{ useCallback, useEffect, useState }} from \"react\";\n\nexport function {camel}(initialValue = null) {{\n  const [value, setValue] = useState(initialValue);\n  const [isLoading, setIsLoading] = useState(false);\n\n  const refresh = useCallback(async () => {{\n    setIsLoading(true);\n    setValue(await Promise.resolve(initialValue));\n    setIsLoading(false);\n  }}, [initialValue]);\n\n  useEffect(() => {{\n    void refresh();\n  }}, [refresh]);\n\n  return {{ value, isLoading, refresh }};\n}}\n",
    "tsx": 'import * as React from "react";\nimport {{ cn }} from "@/lib/utils";\n\nexport interface {pascal}Props extends React.HTMLAttributes<HTMLDivElement> {{\n  variant?: "default" | "outline";\n}}\n\nexport function {pascal}({{ className, variant = "default", ...props }}: {pascal}Props) {{\n  return (\n    <div\n      data-slot="{kebab}"\n      className={{cn("rounded-md p-4", variant === "outline" && "border", className)}}\n      {{...props}}\n    />\n  );\n}}\n',
    "solidity": "// SPDX-License-Identifier: MIT\npragma solidity ^0.8.20;\n\nimport \"@openzeppelin/contracts/token/ERC20/ERC20.sol\";\nimport \"@openzeppelin/contracts/access/Ownable.sol\";\n\ncontract Token is ERC20, Ownable {{\n    constructor() ERC20(\"Token\", \"TKN\") Ownable(msg.sender) {{\n        _mint(msg.sender, 1_000_000 * 10 ** decimals());\n    }}\n\n    function mint(address to, uint256 amount) external onlyOwner {{\n        _mint(to, amount);\n    }}\n}}\n",
    "rust": "pub fn {snake}(items: &[Option<String>]) -> Vec<&str> {{\n    items.iter().filter_map(|item| item.as_deref()).collect()\n}}\n",
    "go": "func {pascal}(items []string) ([]string, error) {{\n\tif len(items) == 0 {{\n\t\treturn nil, errors.New(\"no items\")\n\t}}\n\tkept := make([]string, 0, len(items))\n\tfor _, item := range items {{\n\t\tif item != \"\" {{\n\t\t\tkept = append(kept, item)\n\t\t}}\n\t}}\n\treturn kept, nil\n}}\n",
    "java": "public final class {pascal} {{\n    private final Context context;\n\n    public {pascal}(Context context) {{\n        this.context = context;\n    }}\n\n    public boolean run(String input) {{\n        if (input == null || input.isEmpty()) {{\n            return false;\n        }}\n        return input.length() <= 64;\n    }}\n}}\n",
    "zig": "const std = @import(\"std\");\n\npub fn {snake}(items: []const u32) u32 {{\n    var total: u32 = 0;\n    for (items) |item| total += item;\n    return total;\n}}\n",
}  # fmt: skip


def source_told(asked: Asked) -> Answer | None:
    """What a call is told that asks for source code."""
    if (
        asked.call.reading.verb not in (Verb.GET, Verb.OTHER)
        or not asked.has(_CODE)
        or not _SAID.search(asked.said)
    ):
        return None
    if (
        asked.has(("execute", "run", "validate", "analyze", "list", "search", "review", "generate"))
        or asked.thing
    ):
        return None
    name = asked.text(*_NAMES)
    if name is None:
        return None
    words = asked.words | asked.server
    language = next((kind for kind, said in _LANGUAGES if not words.isdisjoint(said)), "python")
    if language == "abap":
        is_report = asked.has(("include", "program"))
        language = (
            "abap_class" if "class" in asked.words else "abap_report" if is_report else "abap"
        )
    if language == "tsx" and asked.has(("hook", "hooks")):
        language = "hook"
    code = code_in(language, name, asked)
    return Answer({"name": name, "language": language, "code": code}, text=code)


def code_in(language: str, name: str, asked: Asked) -> str:
    """A short piece of code that is called by a name, in one of the known languages."""
    parts = re.findall(
        r"[A-Za-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.rpartition("/")[2])
    )
    is_place = re.fullmatch(r"0x[0-9a-fA-F]+|\d+", name) is not None
    called = f"FUN_{name.removeprefix('0x').zfill(8)}" if is_place else re.sub(r"\W", "_", name)
    pascal = "".join(part[:1].upper() + part[1:] for part in parts) or "Run"
    return _WRITTEN[language].format(
        name=called.upper() if language.startswith("abap") else called,
        address=asked.rng.at("address", name).digits(8),
        snake="_".join(parts).lower() or "run",
        pascal=pascal,
        camel=f"use{pascal.removeprefix('Use')}",
        kebab="-".join(parts).lower(),
    )


def diff_told(asked: Asked) -> Answer | None:
    """What a call is told that asks for the difference that a request or a commit makes."""
    if (
        asked.words.isdisjoint(("diff", "patch", "changes"))
        or asked.call.reading.verb is not Verb.GET
    ):
        return None
    if asked.has(("schema", "image", "text", "price")) or asked.words.isdisjoint(
        ("pull", "pr", "merge", "commit", "git", "diff", "mr", "branch")
    ):
        return None
    parts: list[str] = []
    for path in [
        path
        for path in files_of("app", asked.server)
        if path.endswith((".py", ".ts", ".tsx", ".rs", ".go"))
    ][1:3]:
        old, new = (asked.rng.at(path, at).digits(7) for at in range(2))
        parts += [f"diff --git a/{path} b/{path}", f"index {old}..{new} 100644", f"--- a/{path}", f"+++ b/{path}",
                  "@@ -18,6 +18,8 @@", "     settings = load()", "-    limit = settings.limit", "+    limit = settings.limit or 50",
                  "+    if limit < 1:", "+        raise ValueError(limit)", "     return fetch(limit)"]  # fmt: skip
    text = "\n".join(parts)
    return Answer({"diff": text}, text=text) if parts else None
