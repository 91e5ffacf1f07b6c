"""Markdown as GitHub reads it: headings, anchors, links, and its lists as Python-Markdown wants them."""

import html
import re
from dataclasses import dataclass

FENCE = re.compile(r"^(\s*)(```+|~~~+)")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
# [text](target) and ![text](target), with a text that may hold one level of brackets.
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*<?([^()\s>]*(?:\([^()\s]*\)[^()\s>]*)*)>?(\s+\"[^\"]*\")?\s*\)")
HTML_LINK = re.compile(r"\b(href|src)=\"([^\"]*)\"")
HTML_ID = re.compile(r"\bid=\"([^\"]*)\"")
CODE = re.compile(r"(`+)(?:(?!\1).)*?\1(?!`)")
LIST_ITEM = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])(\s+)(?=\S)")


def slug(text, separator="-"):
    """The anchor that GitHub gives to a heading."""
    text = html.unescape(re.sub(r"<[^>]*>", "", text))
    text = re.sub(r"[^\w\- ]", "", text.strip().lower())
    return text.replace(" ", separator)


def slug_for_toc(text, separator):
    return slug(text, separator)


def plain(text):
    """A heading without its marks: `code`, *emphasis*, [links](target)."""
    text = LINK.sub(lambda found: found.group(2), text)
    text = re.sub(r"(\*\*|__)(.+?)\1", r"\2", text)
    text = re.sub(r"(?<![\w*])\*([^*]+)\*(?![\w*])", r"\1", text)
    return text.replace("`", "")


def lines_outside_code(text):
    """Yields (number, line) of the lines that are not in a fenced block; numbers count from 1."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        found = FENCE.match(line)
        if fence:
            if found and found.group(2).startswith(fence) and line.strip() == found.group(2):
                fence = None
            continue
        if found:
            fence = found.group(2)
            continue
        yield number, line


@dataclass
class Link:
    line: int
    target: str
    image: bool


def _without_code(line):
    return CODE.sub(lambda found: " " * len(found.group(0)), line)


def links(text):
    found = []
    for number, line in lines_outside_code(text):
        # A link's text may hold code; its target may not.
        bare = CODE.sub(lambda code: "x" * len(code.group(0)), line)
        found += [Link(number, link.group(3), bool(link.group(1))) for link in LINK.finditer(bare)]
        found += [Link(number, link.group(2), link.group(1) == "src")
                  for link in HTML_LINK.finditer(_without_code(line))]
    return found


def anchors(text):
    """The anchors of a page. A heading that repeats gets a number, as on GitHub."""
    known = set()
    for _, line in lines_outside_code(text):
        known.update(HTML_ID.findall(_without_code(line)))
        heading = HEADING.match(line)
        if not heading:
            continue
        base = slug(plain(heading.group(2)))
        anchor, number = base, 0
        while anchor in known:
            number += 1
            anchor = f"{base}-{number}"
        known.add(anchor)
    return known


def with_links(text, replace):
    """The page with every link's target replaced by replace(target)."""

    def in_line(line):
        # Code stays as it is, unless it is within a link's text.
        bare = CODE.sub(lambda code: "x" * len(code.group(0)), line)
        for link in reversed(list(LINK.finditer(bare))):
            begin, end = link.span(3)
            line = line[:begin] + replace(link.group(3)) + line[end:]
        bare = _without_code(line)
        for link in reversed(list(HTML_LINK.finditer(bare))):
            begin, end = link.span(2)
            line = line[:begin] + replace(link.group(2)) + line[end:]
        return line

    lines = text.split("\n")
    for number, line in lines_outside_code(text):
        lines[number - 1] = in_line(line)
    return "\n".join(lines)


def with_python_lists(text):
    """Lists as Python-Markdown reads them: each level indented by four, a blank line before the first item."""
    out = []
    stack = []  # the columns at which the contents of the open items begin
    fence = None
    before = ""  # the previous line
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if fence is not None:
            shift = stack[-1] if stack else 0
            out.append(("    " * len(stack) + line[min(indent, shift):]) if line.strip() else "")
            if line.strip() == fence:
                fence = None
            before = line
            continue
        if not line.strip():
            out.append("")
            before = line
            continue
        item = LIST_ITEM.match(line)
        opened = FENCE.match(line)
        if item or not before.strip() or opened or HEADING.match(line):
            while stack and indent < stack[-1]:
                stack.pop()
        if item:
            in_paragraph = before.strip() and not LIST_ITEM.match(before) and not stack and out and out[-1].strip()
            if in_paragraph and not was_list:
                out.append("")
            out.append("    " * len(stack) + item.group(2) + " " + line[item.end():])
            stack.append(item.end())
        else:
            shift = stack[-1] if stack else 0
            out.append("    " * len(stack) + line[min(indent, shift):])
        was_list = bool(stack)
        if opened:
            fence = opened.group(2)
        before = line
    return "\n".join(out)
