"""Every block of code in clients/python/README.md runs, one after the other, as a reader would type it."""

import contextlib
import io
import re
import unittest

import support
from support import Server

import leasehold

README = (support.ROOT / "clients/python/README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


class Readme(unittest.TestCase):
    def test_every_block_runs_and_prints_what_its_comments_say(self):
        server = Server()
        self.addCleanup(server.close)
        saved = []

        async def edit(what, fence):
            saved.append((what, fence))

        names = {
            "save": lambda what, fence: saved.append((what, fence)),
            "write": lambda what, fence: saved.append((what, fence)),
            "edit": edit,
            "items": ["one", "two"],
        }
        printed = []
        self.assertGreater(len(BLOCKS), 7)
        for block in BLOCKS:
            with self.subTest(block), contextlib.redirect_stdout(io.StringIO()) as out:
                code = block.replace("http://127.0.0.1:7470", server.url)
                if "/etc/app" in code:
                    # Any authority will do: nothing is sent to locks.example.
                    code = code.replace('ca_file="/etc/app/ca.pem"', "ca_file=None")
                    exec(compile(code, "README.md", "exec"), names)
                    names["secured"].close()
                else:
                    exec(compile(code, "README.md", "exec"), names)
            printed += out.getvalue().splitlines()
        names["client"].close()
        self.assertEqual([what for what, _ in saved], ["the order", "one", "two", "the order", "the order"])
        self.assertTrue(all(fence > 0 for _, fence in saved))
        self.assertEqual(
            printed,
            [
                "Order/1 is held by alice for at most 60 seconds more",
                "alice",
                "['bob', 'bob']",
                "[Key(type='Order', id='2'), Key(type='Order', id='3')]",
                "['released']",
                "granted Invoice/1 alice",
            ],
        )

    def test_the_table_of_calls_names_every_method(self):
        table = README.partition("## All calls")[2].partition("```")[0]
        named = set(re.findall(r"^\| `(\w+)\(", table, re.MULTILINE))
        for client in (leasehold.Client, leasehold.AsyncClient):
            methods = {name for name in vars(client) if not name.startswith("_")} - {"close"}
            self.assertEqual(named, methods)


if __name__ == "__main__":
    unittest.main()
