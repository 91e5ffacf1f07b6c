#!/usr/bin/env python3
"""Runs of bench/compare that are kept.

usage: bench/runs.py moved OLD NEW        says which rows moved by more than 15 %
       bench/runs.py plot FILE FOLDER     draws the rows of a run as SVG files in FOLDER
       bench/runs.py describe COMMAND     prints the first line of a kept run: where and of what

A kept run is a file of JSON lines. The first says on which machine, of which commit and with which command
it was made, the others are the rows that leasehold_compare prints with --json. bench/compare --record makes
one under bench/results.
"""
import datetime
import html
import json
import math
import os
import pathlib
import platform
import subprocess
import sys

MOVED = 0.15


class BadRun(Exception):
    pass


class Run:
    """A kept run: `about` is its first line, `rows` are the others by group and name."""

    def __init__(self, path):
        try:
            lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line.strip()]
        except (OSError, ValueError) as error:
            raise BadRun(f"cannot read {path}: {error}") from error
        if not lines or "machine" not in lines[0]:
            raise BadRun(f"{path} does not begin with a line about the machine: bench/compare --record writes one")
        self.about, self.rows = lines[0], {(row["group"], row["row"]): row for row in lines[1:]}


def describe(command):
    def of(file, field):
        for line in pathlib.Path(file).read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == field:
                return value.strip()
        return "unknown"

    def git(*words):
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()

    memory = math.ceil(int(of("/proc/meminfo", "MemTotal").split()[0]) / 1024 / 1024)
    return {
        "command": command,
        "commit": git("rev-parse", "--short", "HEAD") + (" and changes" if git("status", "--porcelain") else ""),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{os.cpu_count()} processors ({of('/proc/cpuinfo', 'model name')}), {memory} GiB, "
                   f"Linux {platform.release()}",
    }


def is_disturbed(row):
    return row["goal"] is not None and row["met"] is None


def moved(old, new):
    """The sentences about the rows that both runs have."""
    lines, compared = [], 0
    for name, row in new.rows.items():
        before = old.rows.get(name)
        if before is None or not before["median"] or not row["median"]:
            continue
        compared += 1
        change = row["median"] / before["median"] - 1
        if abs(change) <= MOVED:
            continue
        # Where the spreads overlap, the machine's noise may be all there is.
        overlap = row["min"] <= before["max"] and before["min"] <= row["max"]
        doubts = (["the spreads overlap"] if overlap else []) + (
            ["others used the machine"] if is_disturbed(row) or is_disturbed(before) else [])
        lines.append(f"{', '.join(name)}: {before['median']:.3g} -> {row['median']:.3g} {row['unit']} "
                     f"({change:+.0%}{'; ' + ', '.join(doubts) if doubts else ''})")
    head = f"{len(lines)} of {compared} rows moved by more than {MOVED:.0%} since {old.about['date']}, {old.about['commit']}"
    if old.about["machine"] != new.about["machine"]:
        head += f"\nThe machines differ: {old.about['machine']} then, {new.about['machine']} now. Compare with care."
    return [head, *lines]


# A plot is drawn with CSS classes, so that it fits a page in light and in dark colours.
STYLE = """text{font:13px system-ui,sans-serif;fill:#24292f}.note{font-size:12px;fill:#57606a}
.bar{fill:#2f6f4f}.peer{fill:#8c959f}.spread{stroke:#24292f;stroke-width:1.5}.goal{stroke:#b35900;stroke-dasharray:4 3}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9198a1}.bar{fill:#57ab7f}.spread{stroke:#e6edf3}.goal{stroke:#e3a05b}}"""
LABEL, BARS, LINE = 400, 300, 30


def plot(title, rows, about):
    """One bar for each row, with the smallest and the largest round, the goal, and 1 where it is a ratio."""
    goals = [next(iter(row["goal"].values())) for row in rows if row["goal"]]
    largest = max([row["max"] for row in rows] + goals)
    scale = BARS / largest if largest > 0 else 0
    height = 44 + LINE * len(rows) + 28
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LABEL + BARS + 130} {height}" role="img" '
             f'aria-label="{html.escape(title)}"><style>{STYLE}</style>',
             f'<text x="8" y="22" font-weight="600">{html.escape(title)}</text>']
    for place, row in enumerate(rows):
        top = 40 + LINE * place
        middle = top + LINE / 2
        parts.append(f'<text x="8" y="{middle + 4}">{html.escape(row["row"])}</text>')
        parts.append(f'<rect class="{"peer" if is_disturbed(row) else "bar"}" x="{LABEL}" y="{top + 7}" '
                     f'width="{max(row["median"] * scale, 1):.1f}" height="{LINE - 14}"/>')
        parts.append(f'<line class="spread" x1="{LABEL + row["min"] * scale:.1f}" x2="{LABEL + row["max"] * scale:.1f}" '
                     f'y1="{middle}" y2="{middle}"/>')
        if row["goal"]:
            x = LABEL + next(iter(row["goal"].values())) * scale
            parts.append(f'<line class="goal" x1="{x:.1f}" x2="{x:.1f}" y1="{top + 2}" y2="{top + LINE - 2}"/>')
        parts.append(f'<text x="{LABEL + BARS + 10}" y="{middle + 4}">{row["median"]:.3g}</text>')
    note = f'{rows[0]["unit"]}; {about["machine"]}; {about["commit"]}, {about["date"]}'
    parts.append(f'<text class="note" x="8" y="{height - 10}">{html.escape(note)}</text></svg>')
    return "\n".join(parts) + "\n"


def plots(run):
    """The plots of a run: one for each group and unit, by file name."""
    sorts = {}
    for (group, _), row in run.rows.items():
        if row["median"] is not None:
            sorts.setdefault((group, row["unit"]), []).append(row)
    names = {}
    for (group, unit), rows in sorts.items():
        name = f"bench-{group}-{unit}".lower()
        name = "".join(letter if letter.isalnum() else "-" for letter in name).strip("-")
        names[name + ".svg"] = plot(f"{group}: {unit}", rows, run.about)
    return names


def main(words):
    if len(words) == 3 and words[0] == "moved":
        print("\n".join(moved(Run(words[1]), Run(words[2]))))
    elif len(words) == 3 and words[0] == "plot":
        folder = pathlib.Path(words[2])
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in plots(Run(words[1])).items():
            (folder / name).write_text(text)
            print(folder / name)
    elif len(words) == 2 and words[0] == "describe":
        print(json.dumps(describe(words[1])))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BadRun as error:
        sys.exit(f"bench/runs.py: {error}")
