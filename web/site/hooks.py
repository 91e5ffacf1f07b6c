"""What MkDocs calls while it builds the site."""

import glob
import hashlib
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

INLINE = re.compile(r"<script>(.*?)</script>", re.S)


def is_korean(page):
    return page.file.src_uri.startswith("ko/")


def on_files(files, config):
    config["extra"]["pages"] = {file.src_uri for file in files.documentation_pages()}


def in_language(page, language, pages):
    """The page in that language, or the first one of that language."""
    path = page.file.src_uri.removeprefix("ko/")
    folder = "ko/" if language == "ko" else ""
    path = folder + (path if folder + path in pages else "index.md")
    return path.removesuffix(".md") + ".html"


def on_page_context(context, page, config, nav):
    # Buttons, labels and the search of a Korean page are Korean.
    config["theme"]["language"] = "kr" if is_korean(page) else "en"
    config["extra"]["alternate"] = [
        {"name": name, "lang": language, "link": in_language(page, language, config["extra"]["pages"])}
        for name, language in (("English", "en"), ("한국어", "ko"))]
    return context


def on_post_page(output, page, config):
    if is_korean(page):
        output = output.replace("<html lang=\"kr\"", "<html lang=\"ko\"", 1)

    # The trimmer knows only Latin letters, and would drop Korean words. `separator` in mkdocs.yml takes punctuation away.
    output = output.replace("trimmer, stopWordFilter", "stopWordFilter")

    # A server may forbid scripts inside pages (Content-Security-Policy: script-src 'self'), so they become files.
    def as_file(found):
        text = found.group(1)
        name = f"assets/javascripts/page.{hashlib.sha256(text.encode()).hexdigest()[:8]}.js"
        path = os.path.join(config["site_dir"], name)
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        base = "../" * page.url.count("/")
        return f"<script src=\"{base}{name}\"></script>"

    return INLINE.sub(as_file, output)


def on_post_build(config):
    site = config["site_dir"]
    # The links of 404.html and of the sitemap would be right only at the root of a known host, and the sitemap has the
    # date of the build in it. Maps are for developers of the theme, the stemmers for other languages.
    for pattern in ("404.html", "sitemap.xml*", "assets/**/*.map", "assets/javascripts/lunr/**/*.js"):
        for path in glob.glob(os.path.join(site, pattern), recursive=True):
            os.remove(path)

    # For pages that are read from a disk: browsers let them load scripts, but neither data nor workers.
    with open(os.path.join(site, "search/search_index.json"), encoding="utf-8") as file:
        index = file.read()
    with open(glob.glob(os.path.join(site, "assets/javascripts/workers/search.*.js"))[0], encoding="utf-8") as file:
        worker = file.read()
    with open(os.path.join(site, "search/from_disk.js"), "w", encoding="utf-8") as file:
        file.write(f"var __search = {{index: Promise.resolve({index}), "
                   f"worker: URL.createObjectURL(new Blob([{json.dumps(worker)}], {{type: \"text/javascript\"}}))}};\n")
