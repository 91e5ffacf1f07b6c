"""Checks a built site: every link and anchor leads somewhere, and nothing is loaded from another host."""

import posixpath
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src"),
         ("audio", "src"), ("object", "data"), ("embed", "src"), ("form", "action"), ("use", "href")}
CSS_URL = re.compile(r"url\(\s*['\"]?(?!data:)([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids = set()
        self.links = []
        self.loads = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" and value:
                self.ids.add(value)
            if name == "style" and value and CSS_URL.search(value):
                self.loads.append(CSS_URL.search(value).group(1))
            if not value or name not in ("href", "src", "data", "action"):
                continue
            if (tag, name) in LOADS and not (tag == "link" and ("rel", "canonical") in attributes):
                self.loads.append(value)
            elif tag == "a":
                self.links.append(value)


def is_elsewhere(target):
    return target.startswith("//") or re.match(r"[a-z]+:", target) is not None


def problems(folder):
    folder = Path(folder)
    pages = {path.relative_to(folder).as_posix(): Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    said = []
    if not pages:
        said.append(f"{folder} has no page")
    for name, page in pages.items():
        for target in page.loads:
            if is_elsewhere(target) and not target.startswith("data:"):
                said.append(f"{name}: loads {target} from another host")
        for target in page.links + [one for one in page.loads if not is_elsewhere(one)]:
            if is_elsewhere(target):
                continue
            path, _, anchor = target.partition("#")
            path, anchor = unquote(path.partition("?")[0]), unquote(anchor)
            to = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if path.endswith("/") or path == ".":
                to = posixpath.normpath(posixpath.join(to, "index.html"))
            if to not in files:
                said.append(f"{name}: {target} leads to no file")
            elif anchor and to in pages and anchor not in pages[to].ids and not anchor.startswith("__"):
                said.append(f"{name}: {target} leads to no place on that page")
    for path in folder.rglob("*.css"):
        for found in CSS_URL.finditer(path.read_text(encoding="utf-8")):
            target = found.group(1) or found.group(2)
            if is_elsewhere(target):
                said.append(f"{path.relative_to(folder)}: loads {target} from another host")
    return said
