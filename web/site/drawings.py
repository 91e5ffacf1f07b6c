"""Bars from the recorded results of bench/README.md."""

import re
from xml.sax.saxutils import escape

import sources

ROW = re.compile(r"^\| (.+?) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) \(")
OURS, PEER, INK, SOFT = "#00897b", "#9aa9a7", "#1c2b2a", "#5b6b69"


def rows():
    """(name, Leasehold's cycles a second, the peer's) of each table of results, by the name of its group."""
    text = (sources.ROOT / "bench/README.md").read_text(encoding="utf-8").partition("\n## Results\n")[2]
    if not text:
        raise RuntimeError("bench/README.md has no section Results")
    before, mark, after = text.partition("\nThe server:\n")
    if not mark:
        raise RuntimeError("bench/README.md has no results of the server")
    first = before.partition("\nMySQL beside")[0]
    return found_in(first), found_in(after.partition("\nWhere the rest goes")[0])


def found_in(text):
    found = [ROW.match(line) for line in text.split("\n")]
    numbers = [(row.group(1), *(int(row.group(n).replace(",", "")) for n in (2, 3))) for row in found if row]
    if not numbers:
        raise RuntimeError("bench/README.md: no row of results was understood")
    return numbers


def bars(numbers, title):
    """Two bars a row, each pair as long as its larger one: rates of different stores differ by a thousand."""
    width, row_height, top = 526, 62, 56
    height = top + row_height * len(numbers) + 12
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
           'font-family="system-ui, -apple-system, \'Segoe UI\', \'Noto Sans\', sans-serif">',
           f"<title>{escape(title)}</title>",
           f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="#fbfdfc" stroke="#d5e0de"/>',
           f'<text x="18" y="28" font-size="15" font-weight="600" fill="{INK}">{escape(title)}</text>',
           f'<rect x="18" y="38" width="10" height="10" fill="{OURS}"/><text x="32" y="47" font-size="11.5" fill="{SOFT}">Leasehold</text>',
           f'<rect x="104" y="38" width="10" height="10" fill="{PEER}"/><text x="118" y="47" font-size="11.5" fill="{SOFT}">the other one</text>']
    for at, (name, ours, peer) in enumerate(numbers):
        y = top + at * row_height
        out.append(f'<text x="18" y="{y + 18}" font-size="12.5" fill="{INK}">{escape(name)}</text>')
        for value, color, down in ((ours, OURS, 24), (peer, PEER, 39)):
            length = max(2, 380 * value / max(ours, peer))
            out.append(f'<rect x="18" y="{y + down}" width="{length:.0f}" height="12" rx="2" fill="{color}"/>')
            out.append(f'<text x="{18 + length + 6:.0f}" y="{y + down + 10}" font-size="11" fill="{SOFT}">{value:,}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def speed_page(folder):
    """The page about speed; writes its pictures into the folder of images."""
    library, server = rows()
    for name, numbers, title in (("speed-library", library, "The library: cycles a second"),
                                 ("speed-server", server, "The server: cycles a second")):
        (folder / "images").mkdir(parents=True, exist_ok=True)
        (folder / f"images/{name}.svg").write_text(bars(numbers, title), encoding="utf-8")
    return """# How fast it is

A cycle is the life of one lock: try, check, extend, release, each a call that waits for its answer, durable where the store is a
database. The pictures are drawn from the recorded runs in [the benchmarks](inside/bench/index.md), which say on which machine
they were made, what the other one does, and which goals were missed. Compare the two bars of a row, and not rows of different
stores: each row has its own scale.

![Cycles a second of the library beside each peer](images/speed-library.svg)

"One statement an operation" is not a usable lock: it has no owner, no fence and no history. It is what the database costs without
any lock around it. "The pattern's own way" selects, decides and writes, with a connection for each thread.

![Cycles a second of the server beside Redis, etcd and the pattern](images/speed-server.svg)
"""
