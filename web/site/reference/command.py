"""The reference of the command, from its own --help."""

import re

from reference import help_text


def option_rows(entries):
    rows = ["| option | default | |", "|---|---|---|"]
    for entry in entries:
        text, default = help_text.default_of(entry.text)
        name = entry.name.replace(" REQUIRED", "")
        needed = " Required." if " REQUIRED" in entry.name else ""
        name = name.replace(",--", "`, `--")
        rows.append(f"| `{name}` | {'`' + default + '`' if default else ''} | {help_text.cell(text)}{needed} |"
                    .replace("`" + name + "`", "`" + name.replace("|", "\\|") + "`"))
    return "\n".join(rows)


def rows(entries):
    return "\n".join(["| | |", "|---|---|"] + [f"| `{entry.name}` | {help_text.cell(entry.text)} |" for entry in entries])


def body(help_):
    out = [help_.summary.rstrip(".") + ".", f"```text\n{help_.usage}\n```"]
    for section in help_.sections:
        if section.title in ("Subcommands",):
            continue
        entries = [entry for entry in section.entries if entry.name != "-h,--help"]
        if not entries:
            continue
        if section.title == "Arguments":
            out.append(rows(entries))
        else:
            if section.title != "Options":
                out.append(f"**{section.title}**")
            out.append(option_rows(entries))
    if help_.examples:
        out.append("```sh\n" + "\n".join(help_.examples) + "\n```")
    out += [exit_codes(text) if text.startswith("Exit codes: ") else help_text.cell(text) for text in help_.paragraphs]
    return "\n\n".join(out)


def exit_codes(text):
    return "**Exit codes**: " + help_text.cell(text.removeprefix("Exit codes: "))


def page(program):
    whole = help_text.parsed(program.help())
    subcommands = next(section.entries for section in whole.sections if section.title == "Subcommands")
    out = ["# The command's options",
           "Made from what `leasehold --help` and `leasehold COMMAND --help` print. [The command](../command.md) explains "
           "keys, lock ids, exit codes and what `run` promises.",
           "| command | |\n|---|---|\n" + "\n".join(
               f"| [`leasehold {entry.name}`](#{anchor(entry.name)}) | {help_text.cell(entry.text)} |" for entry in subcommands),
           "## For every command", body(whole)]
    for entry in subcommands:
        out.append(f"## leasehold {entry.name} {{#{anchor(entry.name)}}}")
        if entry.name == "serve":
            help_ = help_text.parsed(program.help("serve"))
            help_.sections = help_.sections[:1]
            out.append(body(help_) + "\n\nAll other options are [settings](settings.md).")
        else:
            out.append(body(help_text.parsed(program.help(entry.name))))
    return "\n\n".join(out) + "\n"


def anchor(name):
    return f"leasehold-{name}"
