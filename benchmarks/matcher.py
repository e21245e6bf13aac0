"""What it costs to look for an answer in a text that is made to be costly.

    python -P benchmarks/matcher.py [--json FILE] [--mebibytes N]

Each figure is the processor time of one search as a ratio to that of ``unicodedata.normalize("NFKC")`` for
the same text, in the same run, the best of three each. The text to normalise has a ligature at its end:
Python returns a text that is normal already without making it, most of all one in ASCII, in no time at all.
"""

import argparse
import json
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

from astra_mcp.answers import match_answers  # noqa: E402

from circumstances import conditions  # noqa: E402 - after the search path is right

LIGATURE = "\ufb01"
TIMES = 3
FAMILIES = {
    "a+": ("a+", "a a b"),
    "commas": ("1,", "1,111 kg"),
    "digits and letters": ("5a5", "5 a"),
    "addresses": ("a@", "a@b.com"),
    "months": ("1 may 2025x ", "2025-05-01"),
    "years and months": ("2025年1月", "2025-01-01"),
    "years and spaces": (f"2025{' ' * 40}年", "2025-01-01"),
    "dates in a row": ("2025-09-03-", "2025-09-04"),
    "dashes": ("\u20131", "1 kg"),
    "digits of other scripts": ("\u0661", "123"),
    "fractions": ("½", "1 2 3"),
    "invisible characters": ("".join(map(chr, range(0x2060, 0x2065))), "abc"),
    "near misses": ("-7 kg ", "7 kg"),
    "distinct near misses": ("{n}x -7kg ", "7 kg"),
    "distinct codes": ("R-101-{n} ", "R-101"),
    "sevens": (f"{'7' * 1000} kg ", "7 kg"),
    "zeros": ("0,", "100 kg"),
    "growing": ("\ufdfa", "7 kg"),
}
"""What is repeated, with its number in the place for one, and an answer that stands nowhere."""


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--mebibytes", type=float, default=1.0, help="size of each text (1)")
    options = parser.parse_args()
    circumstances = conditions(mebibytes=options.mebibytes, times=TIMES, seed=0)
    figures = {name: _ratio(name, int(options.mebibytes * 2**20)) for name in FAMILIES}
    figures["most"] = max(figures.values())
    print(json.dumps(figures, indent=4))
    if options.json:
        text = json.dumps(figures | {"conditions": circumstances.finished()}, indent=2)
        options.json.write_text(text + "\n", encoding="utf-8")


def _ratio(name: str, size: int) -> float:
    unit, answer = FAMILIES[name]
    times = size // len(unit.replace("{n}", "123456").encode())
    text = "".join(unit.replace("{n}", str(n)) for n in range(times))
    normalised = _seconds(lambda: unicodedata.normalize("NFKC", text + LIGATURE))
    # The beginning differs each time, so that nothing is remembered.
    searched = _seconds(lambda: match_answers(f"{time.perf_counter_ns()} {text}", (answer,)))
    return round(searched / normalised, 2)


def _seconds(work: Callable[[], object]) -> float:
    spent: list[float] = []
    for _ in range(TIMES):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent)


if __name__ == "__main__":
    main()
