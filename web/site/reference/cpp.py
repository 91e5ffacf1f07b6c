"""The C++ reference: a page for every header under include/leasehold, from its declarations and comments.

The headers are formatted by clang-format, so a small reader is enough:
1. A scope is read into items: a comment, a declaration, and the comment behind it.
2. Items without a blank line between them belong together: the first one's comment is about all of them.
3. Private parts, bodies of functions and friends are left out.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

GROUPS = [
    ("Locks", ["lock_manager", "lease", "lock_key", "lock_id", "errors", "limits", "time", "queries", "lock_type",
               "refusal_texts", "language"]),
    ("On top", ["hold", "leader", "keep_alive", "scoped_lock", "dist_lock", "session", "coarse_grained", "asio"]),
    ("Stores", ["open_store", "stores/sqlite", "stores/postgres", "stores/mysql", "stores/mariadb", "stores/etcd",
                "stores/http", "stores/memory", "store_status", "protection"]),
    ("Web kit", ["web/lock_routes", "web/http", "web/visitor", "web/sessions", "web/tab_locks",
                 "web/locking_repository", "web/transaction", "web/json", "web/client_files", "web/router",
                 "web/httplib", "web/beast"]),
    ("For a store of your own, and for submit()", ["store", "request", "request_fwd", "key_set"]),
]
LEFT_OUT = {"leasehold", "expected"}  # one includes all others, one includes <expected>


@dataclass
class Item:
    kind: str = "other"  # function, record, enum, concept, alias, value, other
    name: str = ""
    comment: str = ""
    declaration: str = ""
    items: list = field(default_factory=list)  # of a record
    values: list = field(default_factory=list)  # of an enum: (name, comment)
    joined: bool = False  # no blank line between the item before and this one


class Reader:
    def __init__(self, text):
        self.text = text
        self.at = 0

    def done(self):
        return self.at >= len(self.text)

    def rest_of_line(self):
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        line = self.text[self.at:end]
        return line, end

    def skip_space(self):
        """Skips white space and returns the number of line ends in it."""
        begin = self.at
        while not self.done() and self.text[self.at].isspace():
            self.at += 1
        return self.text.count("\n", begin, self.at)

    def comment_lines(self):
        """Reads whole-line comments; empty if there is none here."""
        lines = []
        while self.text.startswith("//", self.at):
            line, end = self.rest_of_line()
            lines.append(line[2:].removeprefix(" "))
            self.at = min(end + 1, len(self.text))
            mark = self.at
            while not self.done() and self.text[self.at] in " \t":
                self.at += 1
            if not self.text.startswith("//", self.at):
                self.at = mark
                break
        return lines

    def trailing_comment(self):
        """Reads a comment on the rest of this line, with the lines below that continue it in the same column."""
        mark = self.at
        while not self.done() and self.text[self.at] in " \t,":
            self.at += 1
        if not self.text.startswith("//", self.at):
            self.at = mark
            return ""
        column = self.at - (self.text.rfind("\n", 0, self.at) + 1)
        lines = []
        while True:
            line, end = self.rest_of_line()
            lines.append(line[2:].strip())
            self.at = end
            below, _, _ = self.text[end + 1:].partition("\n")
            if len(below) - len(below.lstrip()) == column and below.lstrip().startswith("//"):
                self.at = end + 1 + column
                continue
            return " ".join(lines)

    def closing(self, opening):
        """The position behind the bracket that closes the one at `opening`."""
        pairs = {"{": "}", "(": ")", "[": "]"}
        stack = []
        at = opening
        while at < len(self.text):
            char = self.text[at]
            if self.text.startswith("//", at):
                at = self.text.find("\n", at)
                continue
            if char == "\"" or (char == "'" and not self.text[at - 1].isalnum()):
                at += 1
                while self.text[at] != char:
                    at += 2 if self.text[at] == "\\" else 1
            elif char in pairs:
                stack.append(pairs[char])
            elif stack and char == stack[-1]:
                stack.pop()
                if not stack:
                    return at + 1
            at += 1
        raise ValueError("a bracket is not closed")


RECORD = re.compile(r"^(?:template\s*<[^{;]*>\s*)?(class|struct|union)\s+([\w:<>]+)(?:\s+final)?\s*(?::[^{]*)?$", re.S)
ENUM = re.compile(r"^enum(?:\s+class)?\s+(\w+)\s*(?::\s*[\w:]+)?\s*$", re.S)
LABEL = re.compile(r"(public|private|protected):(?!:)")


def squeezed(text):
    return re.sub(r"[ \t]*\n[ \t]*", "\n", text.strip())


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def read_scope(text, in_record=None):
    """The items of a namespace's or a record's body."""
    reader = Reader(text)
    items = []
    comment = []
    visible = in_record != "class"
    lines_between = 2
    while True:
        lines_between = max(lines_between, reader.skip_space())
        if reader.done():
            return items
        if reader.text.startswith("//", reader.at):
            if comment and lines_between > 1:
                items.append(Item(kind="comment", comment="\n".join(comment)))
                comment = []
            elif lines_between > 1:
                pass
            before = lines_between
            comment += reader.comment_lines()
            blank = reader.text.startswith("\n", reader.at)
            if blank:  # about nothing in particular
                items.append(Item(kind="comment", comment="\n".join(comment)))
                comment = []
            lines_between = before
            continue
        if reader.text[reader.at] == "#":
            while True:
                line, end = reader.rest_of_line()
                reader.at = end
                if not line.endswith("\\"):
                    break
                reader.at = end + 1
            comment = []
            continue
        label = LABEL.match(reader.text, reader.at)
        if label and in_record:
            visible = label.group(1) == "public"
            reader.at = label.end()
            comment = []
            continue
        item = read_item(reader)
        if item is None:
            comment = []
            continue
        item.joined = lines_between < 2
        item.comment = "\n".join(comment) or item.comment
        comment = []
        lines_between = 0
        if visible:
            items.append(item)


def read_item(reader):
    begin = reader.at
    column = begin - (reader.text.rfind("\n", 0, begin) + 1)
    item = read_declaration(reader, begin)
    if item:
        item.declaration = re.sub(rf"\n {{0,{column}}}", "\n", item.declaration)
    return item


def read_declaration(reader, begin):
    at = begin
    text = reader.text
    has_arguments = False
    while at < len(text):
        char = text[at]
        if text.startswith("//", at):
            at = text.find("\n", at)
            continue
        if char in "([":
            end = reader.closing(at)
            if char == "(":
                has_arguments = True
            at = end
            continue
        if char == ";":
            declaration = text[begin:at + 1]
            reader.at = at + 1
            return classified(declaration, reader)
        if char == ":" and has_arguments and text[at + 1] != ":" and text[at - 1] != ":":
            # The initialisers of a constructor, then its body.
            declaration = text[begin:at].rstrip() + ";"
            while True:
                at = text.index("{", at)
                previous = text[:at].rstrip()[-1]
                end = reader.closing(at)
                at = end
                if previous in "})":
                    break
            reader.at = at
            return classified(declaration, reader)
        if char == "{":
            head = text[begin:at].strip()
            end = reader.closing(at)
            body = text[at + 1:end - 1]
            if head.startswith("namespace"):
                reader.at = end
                name = head.removeprefix("namespace").strip()
                reader.trailing_comment()
                return Item(kind="namespace", name=name, items=read_scope(body))
            record = RECORD.match(head)
            enum = ENUM.match(head)
            if record or enum:
                behind = text.index(";", end)
                reader.at = behind + 1
                variable = text[end:behind].strip()
                if record:
                    return Item(kind="record", name=record.group(2), declaration=one_line(head),
                                items=read_scope(body, record.group(1)))
                item = Item(kind="enum", name=enum.group(1), declaration=one_line(head), values=read_values(body))
                if variable:
                    item.declaration += f" {{ ... }} {variable}"
                    item.comment = reader.trailing_comment()
                return item
            after = text[end:].lstrip()
            if re.search(r"\bconcept\s", head):
                at = end
                continue
            if has_arguments and (
                    not after.startswith((";", ",")) or head.endswith((")", "const", "noexcept", "override"))):
                reader.at = end  # the body of a function
                return classified(head + ";", reader)
            at = end  # an initialiser
            continue
        at += 1
    reader.at = len(text)
    return None


def read_values(body):
    reader = Reader(body)
    values = []
    comment = []
    while True:
        reader.skip_space()
        if reader.done():
            return values
        if body.startswith("//", reader.at):
            comment = reader.comment_lines()
            continue
        value = re.compile(r"(\w+)(\s*=\s*[^,/\n]+)?\s*,?").match(body, reader.at)
        if not value:
            raise ValueError(f"no value of an enum: {body[reader.at:reader.at + 40]!r}")
        reader.at = value.end()
        behind = reader.trailing_comment()
        values.append((value.group(1), " ".join(comment) or behind))
        comment = []


NAME_OF_FUNCTION = re.compile(r"(~?\w+|operator\s*\S+?)\s*\(")


def without_template_arguments(text):
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>]*>", "", text)
    return text


def classified(declaration, reader):
    item = Item(declaration=declaration)
    bare = re.sub(r"^template\s*<.*?>\s*(?=\S)", "", one_line(declaration)) if declaration.startswith("template") else one_line(declaration)
    bare = re.sub(r"\[\[\w+(\(.*?\))?\]\]\s*", "", bare)
    if "operator" in bare.split("(")[0] or re.match(r"(friend\b|static_assert\b|using namespace\b|extern template\b)", bare):
        return Item(kind="hidden")
    if bare.endswith(("= delete;", "() = default;")) or re.match(r"using [\w:]*?(\w+)::\1;", bare) or re.match(r"(class|struct|enum class|enum)\s+\w+( : [\w:]+)?;$", bare):
        return Item(kind="hidden")
    concept = re.search(r"\bconcept\s+(\w+)", declaration)
    if concept:
        item.kind, item.name = "concept", concept.group(1)
    elif alias := re.match(r"using\s+(\w+)\s*=", bare):
        item.kind, item.name = "alias", alias.group(1)
    elif alias := re.match(r"using\s+[\w:]*::(\w+);", bare):
        item.kind, item.name = "alias", alias.group(1)
    elif (found := NAME_OF_FUNCTION.search(without_template_arguments(bare))) and not re.search(
            r"[={]", without_template_arguments(bare).split("(")[0]):
        item.kind, item.name = "function", found.group(1)
    else:
        named = re.match(r"(.*?)(\w+)\s*(\[\w*\])?\s*(=.*|\{.*\})?;$", bare)
        item.kind, item.name = "value", named.group(2) if named else bare
        item.comment = reader.trailing_comment()
        return item
    behind = reader.trailing_comment()
    item.comment = behind
    return item


# --- printing

class Printer:
    def __init__(self, index):
        self.used = set()  # (page, anchor)
        self.index = index  # name -> page#anchor, relative to reference/cpp

    def link(self, name, page, of=None):
        target = self.index.get((of or page, name)) or self.index.get(name)
        if not target:
            return f"`{name}`"
        file, _, anchor = target.partition("#")
        up = "../" * page.count("/")
        return f"[`{name}`]({up}{file}#{anchor})" if file != page else f"[`{name}`](#{anchor})"

    def words(self, text, page):
        """A comment's sentence with its names as code, linked where they are known."""
        parts = re.split(r"(`[^`]*`|\"[^\"]*\")", text)
        out = []
        for part in parts:
            if part.startswith(("`", "\"")):
                out.append(part.replace("<", "&lt;") if part.startswith("\"") else part)
                continue
            part = re.sub(r"<(leasehold/[\w/.]+)>", lambda found: f"\0{self.header_link(found.group(1), page)}\0", part)
            part = re.sub(r"(?<![\w/])docs/([\w-]+\.md)", lambda found: f"\0[{found.group(1)}]({'../' * (page.count('/') + 2)}{found.group(1)})\0", part)
            bits = part.split("\0")
            bits[0::2] = [self.names(bit, page) for bit in bits[0::2]]
            part = "\0".join(bits)
            bits = part.split("\0")
            bits[0::2] = [bit.replace("<", "&lt;").replace("*", "\\*") for bit in bits[0::2]]
            out.append("".join(bits))
        return "".join(out)

    def names(self, text, page):
        return re.sub(
            r"(?<![\w/.])((?:[A-Za-z_]\w*::)+~?\w+(?:\(\))?|[A-Z]\w*[a-z]\w*|[a-z]+\w*\(\)|[a-z]+(?:_[a-z]+)+(?:\(\))?)(?![\w/])",
            lambda found: self.name(found.group(1), page), text)

    def name(self, name, page):
        is_word = re.fullmatch(r"[A-Z][a-z]+", name)  # may be an ordinary word: Lease, Mode, Check
        if is_word or (re.fullmatch(r"[A-Z]\w*", name) and name not in self.index):
            return name
        return f"\0{self.link(name, page)}\0"

    def header_link(self, path, page):
        target = path.removeprefix("leasehold/").removesuffix(".hpp") + ".md"
        if target not in self.index.values() and target not in self.pages:
            return f"`<{path}>`"
        return f"[`<{path}>`]({'../' * page.count('/')}{target})"

    def prose(self, comment, page):
        out = []
        code = []
        paragraph = []

        def end_paragraph():
            if paragraph:
                out.append(self.words(" ".join(paragraph), page))
                paragraph.clear()

        def end_code():
            while code and not code[-1].strip():
                code.pop()
            if code:
                looks_like_code = any(mark in line for line in code for mark in ";{}")
                out.append(f"```{'cpp' if looks_like_code else 'text'}\n" + "\n".join(code) + "\n```")
                code.clear()

        for line in comment.split("\n"):
            if line.startswith("  ") or (code and not line.strip()):
                end_paragraph()
                code.append(line[2:])
            elif not line.strip():
                end_code()
                end_paragraph()
            elif line.startswith("- "):
                end_code()
                end_paragraph()
                paragraph.append(line)
            else:
                end_code()
                paragraph.append(line)
        end_code()
        end_paragraph()
        return "\n\n".join(out)

    def items(self, items, level, page, owner=""):
        out = []
        for group in grouped(items):
            out.append(self.group(group, level, page, owner))
        return "\n\n".join(part for part in out if part)

    def group(self, group, level, page, owner):
        first = group[0]
        if first.kind == "comment":
            return self.prose(first.comment, page)
        if first.kind == "namespace":
            intro = self.prose(first.comment, page) if first.comment else ""
            return "\n\n".join(part for part in (intro, self.items(first.items, level, page, owner)) if part)
        if first.kind == "record":
            return self.record(first, level, page, owner)
        if first.kind == "enum":
            return self.enum(first, level, page, owner)
        names = list(dict.fromkeys(item.name for item in group))
        record = owner.rpartition("::")[2]
        special = {record: "Constructor", f"~{record}": "Destructor"}
        heading = ", ".join(special.get(name) or f"`{name}`" for name in names)
        anchors = [f"{owner}::{name}" if owner else name for name in names]
        anchors = [anchor for anchor in anchors if (page, anchor) not in self.used]
        self.used.update((page, anchor) for anchor in anchors)
        out = [f"{'#' * level} {heading}" + (f" {{#{anchor_of(anchors[0])}}}" if anchors else "")]
        out += [f"<span id=\"{anchor_of(anchor)}\"></span>" for anchor in anchors[1:]]
        out.append("```cpp\n" + "\n".join(item.declaration.strip() for item in group) + "\n```")
        comments = [item.comment for item in group if item.comment]
        out += [self.prose(comment, page) for comment in comments]
        return "\n\n".join(out)

    def record(self, item, level, page, owner):
        full = f"{owner}::{item.name}" if owner else item.name
        out = [f"{'#' * level} `{item.name}` {{#{anchor_of(full)}}}"]
        if item.comment:
            out.append(self.prose(item.comment, page))
        out.append(f"```cpp\n{item.declaration.strip()};\n```")
        fields = [one for one in item.items if one.kind in ("value", "comment")]
        rest = [one for one in item.items if one.kind != "value"]
        values = [one for one in item.items if one.kind == "value"]
        if values:
            out.append(self.fields(item, values, page))
        elif fields and not rest:
            out.append("")
        rest = [one for one in rest if one.kind != "comment" or not values]
        out.append(self.items(rest, level + 1, page, full))
        return "\n\n".join(part for part in out if part)

    def fields(self, record, values, page):
        rows = ["| field | type and default | |", "|---|---|---|"]
        for value in values:
            text = value.comment
            kind, default = type_and_default(value)
            what = f"`{kind}`" + (f" = `{default}`" if default else "")
            words = re.sub(r"\s+", " ", self.words(text.replace("\n", " "), page))
            rows.append(f"| `{value.name}` | {what.replace('|', chr(92) + '|')} | {words.replace('|', chr(92) + '|')} |")
        return "\n".join(rows)

    def enum(self, item, level, page, owner):
        full = f"{owner}::{item.name}" if owner else item.name
        out = [f"{'#' * level} `{item.name}` {{#{anchor_of(full)}}}"]
        if item.comment:
            out.append(self.prose(item.comment, page))
        if any(comment for _, comment in item.values):
            rows = ["| value | |", "|---|---|"]
            rows += [f"| `{name}` | {self.words(comment, page)} |" for name, comment in item.values]
            out.append(f"```cpp\n{item.declaration};\n```")
            out.append("\n".join(rows))
        else:
            values = ", ".join(name for name, _ in item.values)
            shape = item.declaration.replace("{ ... }", f"{{ {values} }}")
            out.append("```cpp\n" + (shape if "{" in shape else f"{shape} {{ {values} }}") + ";\n```")
        return "\n\n".join(out)


def type_and_default(value):
    text = one_line(value.declaration).rstrip(";")
    text = re.sub(r"^\[\[\w+\]\]\s*", "", text)
    found = re.match(rf"(.*?)\s*\b{re.escape(value.name)}\b\s*(\[\w*\])?\s*(?:=\s*(.*)|\{{(.*)\}})?$", text)
    if not found:
        return text, ""
    default = found.group(3) if found.group(3) is not None else found.group(4)
    return found.group(1).removeprefix("static constexpr "), default or ""


def anchor_of(name):
    return name.replace("::", "-").replace("~", "destroy-").replace(" ", "")


def grouped(items):
    """Functions, aliases and constants that belong together, and everything else alone."""
    groups = []
    for item in items:
        if item.kind == "hidden" or (item.name.startswith("~") and not item.comment):
            continue
        if (item.kind == "namespace" and item.name.split("::")[0] != "leasehold") or item.name.startswith("std::"):
            continue
        simple = item.kind in ("function", "alias", "value")
        if groups and simple and item.joined and not item.comment and groups[-1][0].kind == item.kind:
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def names_in(items, page, index, owner=""):
    for item in items:
        if item.kind == "namespace" and item.name.split("::")[0] == "leasehold":
            names_in(item.items, page, index)
        elif item.kind in ("record", "enum", "function", "alias", "concept"):
            full = f"{owner}::{item.name}" if owner else item.name
            target = f"{page}#{anchor_of(full)}"
            spelled = [full, f"{full}()"] if item.kind == "function" else [full]
            if item.kind == "function" and owner:
                spelled += [f"{item.name}()"] if owner == "LockManager" else []
            for name in spelled:
                index.setdefault(name, target)
                index.setdefault((page, name), target)
            if item.kind == "record":
                names_in(item.items, page, index, full)
                for one in item.items:
                    if one.kind == "value":
                        index.setdefault(f"{full}::{one.name}", f"{page}#{anchor_of(full)}")


def summary(items):
    """The first sentence of a header's first comment."""
    for item in items:
        if item.kind == "namespace":
            found = summary([Item(kind="comment", comment=item.comment)] if item.comment else []) or summary(item.items)
        else:
            found = item.comment.split("\n\n")[0].replace("\n", " ") if item.comment else ""
        if found:
            return re.split(r"(?<=[.:])\s", found)[0].rstrip(":")
    return ""


def pages(root):
    """{path below reference/: text} for all headers, and the groups [(title, [(name, path)])]."""
    folder = Path(root) / "include/leasehold"
    headers = {path.relative_to(folder).as_posix().removesuffix(".hpp"): path for path in sorted(folder.rglob("*.hpp"))}
    known = {name for _, names in GROUPS for name in names}
    groups = [(title, [name for name in names if name in headers]) for title, names in GROUPS]
    more = [name for name in headers if name not in known | LEFT_OUT]
    if more:
        groups.append(("More", more))

    parsed = {}
    index = {}
    for _, names in groups:
        for name in names:
            parsed[name] = read_scope(headers[name].read_text(encoding="utf-8"))
            names_in(parsed[name], f"{name}.md", index)
    printer = Printer(index)
    printer.pages = {f"{name}.md" for name in parsed}

    out = {}
    listing = ["# C++ API", "", "Made from the headers under `include/leasehold`. `#include <leasehold/leasehold.hpp>` includes "
               "everything but the stores' own headers, `asio.hpp` and the web kit.", ""]
    for title, names in groups:
        listing += [f"## {title}", "", "| header | |", "|---|---|"]
        for name in names:
            page = f"{name}.md"
            body = printer.items(parsed[name], 2, page)
            out[f"cpp/{page}"] = f"# {name}.hpp\n\n```cpp\n#include <leasehold/{name}.hpp>\n```\n\n{body}\n"
            listing.append(f"| [`{name}.hpp`]({page}) | {contents(parsed[name], printer, page)} |")
        listing.append("")
    out["cpp/index.md"] = "\n".join(listing)
    return out, [(title, [(f"{name}.hpp", f"cpp/{name}.md") for name in names]) for title, names in groups]


def contents(items, printer, page):
    """The names that a header declares, linked."""
    names = []

    def collect(scope):
        for item in scope:
            if item.kind == "namespace":
                if item.name.split("::")[0] == "leasehold":
                    collect(item.items)
            elif item.kind in ("record", "enum", "alias", "concept", "function") and "operator" not in item.name:
                if not item.name.startswith("std::") and item.name not in names:
                    names.append(item.name)

    collect(items)
    return ", ".join(printer.link(name, "index.md", page) for name in names)
