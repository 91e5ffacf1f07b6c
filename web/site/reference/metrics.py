"""The reference of the metrics, from what a running server answers to GET /metrics."""

import re

from reference import help_text

GROUPS = [
    ("Leases", r"leasehold_(leases|refusals|waiters|waiting)"),
    ("Requests", r"leasehold_(request|wait_|response|queued|events)"),
    ("Connections", r"leasehold_(connections|accept)"),
    ("The store", r"leasehold_store"),
    ("Quotas and audit", r"leasehold_(quota|audit)"),
    ("The process", r"(process_|leasehold_build)"),
    ("More", r""),
]
# Labels whose values differ from server to server.
ANY_VALUE = {"version", "store", "route", "method", "status"}


def page(text):
    families = {}
    labels = {}
    for line in text.split("\n"):
        if found := re.match(r"# HELP (\S+) (.*)", line):
            families[found.group(1)] = [found.group(2), ""]
        elif found := re.match(r"# TYPE (\S+) (\S+)", line):
            families[found.group(1)][1] = found.group(2)
        elif found := re.match(r"(\w+?)(?:_bucket|_sum|_count)?\{(.*)\} ", line):
            name = found.group(1) if found.group(1) in families else line.split("{")[0]
            for label, value in re.findall(r"(\w+)=\"([^\"]*)\"", found.group(2)):
                if label != "le":
                    labels.setdefault(name, {}).setdefault(label, []).append(value)
    left = dict(families)
    out = ["# Metrics",
           "Made from what a server answers to `GET /metrics`. [Operating a server](../operations.md#metrics) explains "
           "how to collect them, and has a dashboard and alerts."]
    for title, pattern in GROUPS:
        mine = [name for name in left if re.match(pattern, name)]
        if not mine:
            continue
        rows = ["| metric | kind | labels | |", "|---|---|---|---|"]
        for name in mine:
            about, kind = left.pop(name)
            known = []
            for label, values in labels.get(name, {}).items():
                values = list(dict.fromkeys(values))
                known.append(f"`{label}`" if label in ANY_VALUE else f"`{label}`: " + ", ".join(f"`{value}`" for value in values))
            rows.append(f"| `{name}` | {kind} | {'; '.join(known)} | {help_text.cell(about)} |")
        out += [f"## {title}", "\n".join(rows)]
    return "\n\n".join(out) + "\n"
