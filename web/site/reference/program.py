"""Asks the built `leasehold` about itself: its help, and what a running server says."""

import json
import os
import subprocess
import tempfile
import urllib.request


class Program:
    def __init__(self, command):
        self.command = os.path.abspath(command)

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LEASEHOLD_")}
        return kept | {"LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "LANGUAGE": "en", "NO_COLOR": "1", "COLUMNS": "80"}

    def output(self, *arguments):
        return subprocess.run([self.command, *arguments], env=self.environment(), check=True, text=True,
                              stdout=subprocess.PIPE, timeout=60).stdout

    def help(self, *subcommand):
        return self.output(*subcommand, "--help")

    def serving(self):
        return Serving(self)


class Serving:
    """A server in memory on a free port, while this is open."""

    def __init__(self, program):
        self.program = program

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [self.program.command, "serve", "--store", "memory:", "--port", "0", "--log-format", "json"],
            env=self.program.environment(), cwd=self.folder.name, stderr=subprocess.PIPE, text=True)
        try:
            for line in self.process.stderr:
                said = json.loads(line)
                if said["message"] == "ready":
                    self.url = said["url"]
                    return self
            raise RuntimeError("leasehold serve did not become ready")
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        self.process.terminate()
        self.process.stderr.close()
        self.process.wait(60)
        self.folder.cleanup()

    def get(self, path, body=None, method=None):
        request = urllib.request.Request(
            f"{self.url}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()
