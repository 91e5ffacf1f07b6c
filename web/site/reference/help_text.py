"""Reads the text of `--help`."""

import re
from dataclasses import dataclass, field


@dataclass
class Entry:
    name: str  # "--ttl DURATION"
    text: str


@dataclass
class Section:
    title: str
    entries: list = field(default_factory=list)


@dataclass
class Help:
    summary: str = ""
    usage: str = ""
    sections: list = field(default_factory=list)  # arguments, options, subcommands
    examples: list = field(default_factory=list)
    paragraphs: list = field(default_factory=list)


def parsed(text):
    lines = text.rstrip("\n").split("\n")
    help_ = Help(summary=lines[0])
    section = None
    in_examples = False
    paragraph = []

    def end_paragraph():
        if paragraph:
            help_.paragraphs.append(" ".join(paragraph))
            paragraph.clear()

    for line in lines[1:]:
        if not line.strip():
            end_paragraph()
            in_examples = False
        elif line.startswith("Usage: "):
            help_.usage = line.removeprefix("Usage: ")
        elif line == "Examples:":
            in_examples = True
        elif in_examples:
            help_.examples.append(line.removeprefix("  "))
        elif not line.startswith(" ") and line.endswith(":") and not paragraph:
            section = Section(line.rstrip(":"))
            help_.sections.append(section)
        elif re.match(r"  \S", line) and section:
            found = re.match(r"  (\S.*?)(?:\s{2,}|(?<=.{24})\s)(\S.*)$", line) if len(line) > 28 and line[27] == " " else None
            if found and len(line) > 28:
                section.entries.append(Entry(line[2:28].strip(), line[28:].strip()))
            else:
                section.entries.append(Entry(line.strip(), ""))
        elif line.startswith(" " * 28) and section and section.entries:
            entry = section.entries[-1]
            entry.text = f"{entry.text} {line.strip()}".strip()
        else:
            paragraph.append(line.strip())
    end_paragraph()
    help_.sections = [one for one in help_.sections if one.entries]
    return help_


def default_of(text):
    """("how long it lives", "5m") of "how long it lives (5m)"."""
    found = re.match(r"(.*)\s\(([^()]*(?:\([^()]*\)[^()]*)*)\)$", text)
    return (found.group(1), found.group(2)) if found else (text, "")


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
