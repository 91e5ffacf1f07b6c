"""The reference of the server's settings, from `leasehold serve --help` and `--print-config`."""

import re

from reference import help_text


def page(program):
    sections = help_text.parsed(program.help("serve")).sections[1:]  # the first is about --help and --config
    in_file = {}
    for line in program.output("serve", "--print-config").split("\n"):
        found = re.match(r"(\w+) = (.*?)\s+# .*$", line)
        if found:
            in_file[found.group(1)] = found.group(2)
    out = ["# Settings",
           "Made from what `leasehold serve --help` and `leasehold serve --print-config` print. "
           "[The server](../server.md#settings) explains where settings come from and what they do together.",
           "Every setting has one name in three places. The option overrides the variable, and the variable overrides the file.",
           "| option | environment variable | line of the file |\n|---|---|---|\n"
           "| `--default-ttl 10m` | `LEASEHOLD_DEFAULT_TTL=10m` | `default_ttl = \"10m\"` |"]
    known = set()
    for section in sections:
        rows = ["| setting | takes | default | |", "|---|---|---|---|"]
        for entry in section.entries:
            option, _, takes = entry.name.partition(" ")
            name = option.removeprefix("--").replace("-", "_")
            known.add(name)
            text, default = help_text.default_of(entry.text)
            if name not in in_file:
                raise RuntimeError(f"--print-config does not print {name}")
            rows.append(f"| <span id=\"{name}\"></span>`{name}` | `{takes.replace('|', chr(92) + '|')}` | `{default}` | {help_text.cell(text)} |")
        out += [f"## {section.title}", "\n".join(rows)]
    missing = sorted(set(in_file) - known)
    if missing:
        raise RuntimeError(f"serve --help does not list {', '.join(missing)}")
    return "\n\n".join(out) + "\n"
