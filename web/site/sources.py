"""The pages of the repository, and where each of them is on the site."""

import os
import posixpath
from pathlib import Path

import markdown_text

ROOT = Path(__file__).resolve().parents[2]

# Sources link to the file from which a reference page is made; the site links to that page instead.
GENERATED = {
    "src/server/v1/openapi.json": "reference/http.md",
    "src/cli/main.cpp": "reference/command.md",
    "src/cli/serve/settings.cpp": "reference/settings.md",
    "src/server/monitoring/metrics.cpp": "reference/metrics.md",
}
HEADERS = "include/leasehold/"
NOT_READ = {"build", "dist", "node_modules", "third_party"}


def page_of_header(path):
    """include/leasehold/stores/sqlite.hpp -> reference/cpp/stores/sqlite.md"""
    return "reference/cpp/" + path[len(HEADERS):].removesuffix(".hpp") + ".md"


def markdown_files(root=ROOT):
    """Every page in the repository, as paths relative to it."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in NOT_READ and not name.startswith("."))
        found += [Path(folder, name).relative_to(root).as_posix() for name in sorted(files) if name.endswith(".md")]
    return found


def site_path(path):
    """Where a page of the repository is on the site."""
    if path == "README.md":
        return "overview.md"
    if path == "README.ko.md":
        return "ko/overview.md"
    if path.startswith("docs/"):
        path = path.removeprefix("docs/")
    else:
        path = "inside/" + path
    if posixpath.basename(path) == "README.md":
        path = posixpath.join(posixpath.dirname(path), "index.md")
    return path


def is_elsewhere(target):
    return "://" in target or target.startswith(("mailto:", "data:"))


def resolved(page, target):
    """The path in the repository that a link on a page means, and its anchor."""
    path, _, anchor = target.partition("#")
    if not path:
        return page, anchor
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)), anchor


class Pages:
    """Pages and other files of the repository, to follow links."""

    def __init__(self, root=ROOT):
        self.root = Path(root)
        self.pages = markdown_files(root)
        self.known = set(self.pages)
        self._anchors = {}

    def text(self, page):
        return (self.root / page).read_text(encoding="utf-8")

    def anchors(self, page):
        if page not in self._anchors:
            self._anchors[page] = markdown_text.anchors(self.text(page))
        return self._anchors[page]

    def problem_with(self, page, target):
        """What is wrong with a link, or None."""
        if is_elsewhere(target):
            return None
        path, anchor = resolved(page, target)
        if path.startswith("../") or target.startswith("/"):
            return "leads out of the repository"
        if not (self.root / path).exists():
            return "leads to no file"
        if (self.root / path).is_dir() and f"{path}/README.md" in self.known:
            path = f"{path}/README.md"
        if not anchor:
            return None
        if path not in self.known:
            return "names an anchor of a file that is no page"
        if anchor not in self.anchors(path):
            return "leads to no heading of that page"
        return None

    def problems(self):
        """One sentence for every link that leads nowhere, and for every picture from another host."""
        said = []
        for page in self.pages:
            for link in markdown_text.links(self.text(page)):
                problem = self.problem_with(page, link.target)
                if link.image and is_elsewhere(link.target) and not link.target.startswith("data:"):
                    problem = "shows a picture of another host"
                if problem:
                    said.append(f"{page}:{link.line}: {link.target} {problem}")
        return said
