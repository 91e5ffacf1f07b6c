"""The wheel and the source distribution."""

import csv
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

import support

PACKAGE = support.ROOT / "clients/python"
sys.path.insert(0, str(PACKAGE))

import dist  # noqa: E402


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="leasehold-package.")
        cls.path = Path(cls.folder.name)
        subprocess.run([PACKAGE / "build", cls.path / "dist"], check=True, capture_output=True)
        cls.wheel, cls.sdist = sorted((cls.path / "dist").iterdir())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_version_is_that_of_leasehold(self):
        project = (support.ROOT / "CMakeLists.txt").read_text()
        self.assertEqual(dist.VERSION, re.search(r"project\(leasehold VERSION (\S+)", project).group(1))
        self.assertEqual(self.wheel.name, f"leasehold-{dist.VERSION}-py3-none-any.whl")
        self.assertEqual(self.sdist.name, f"leasehold-{dist.VERSION}.tar.gz")

    def test_the_licence_is_that_of_leasehold(self):
        self.assertEqual((PACKAGE / "LICENSE").read_bytes(), (support.ROOT / "LICENSE").read_bytes())

    def test_the_wheel_has_every_module_and_is_recorded_in_full(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = set(wheel.namelist())
            modules = {f"leasehold/{path.name}" for path in (PACKAGE / "leasehold").glob("*.py")}
            info = {f"{dist.INFO}/{name}" for name in ("LICENSE", "METADATA", "RECORD", "WHEEL")}
            self.assertEqual(names, {*modules, "leasehold/py.typed", *info})
            rows = {row[0]: row[1:] for row in csv.reader(wheel.read(f"{dist.INFO}/RECORD").decode().splitlines())}
            self.assertEqual(set(rows), names)
            for name in names - {f"{dist.INFO}/RECORD"}:
                content = wheel.read(name)
                self.assertEqual(rows[name], [dist.digest(content), str(len(content))])

    def test_the_wheel_works_without_the_source_tree(self):
        program = "import leasehold; print(leasehold.__file__); leasehold.Client(); leasehold.AsyncClient()"
        ran = subprocess.run(
            [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(self.wheel)!r}); {program}"],
            check=True, capture_output=True, text=True,
        )
        self.assertIn(".whl", ran.stdout)

    def test_two_builds_are_identical_and_so_is_one_from_the_source_distribution(self):
        with tarfile.open(self.sdist) as archive:
            safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            archive.extractall(self.path / "sources", **safely)
        again = self.path / "sources" / f"leasehold-{dist.VERSION}" / "build"
        for number, build in enumerate((PACKAGE / "build", again)):
            folder = self.path / f"again-{number}"
            subprocess.run([build, folder], check=True, capture_output=True)
            self.assertEqual((folder / self.wheel.name).read_bytes(), self.wheel.read_bytes())
            self.assertEqual((folder / self.sdist.name).read_bytes(), self.sdist.read_bytes())

    def test_the_modules_use_only_the_standard_library_and_python_3_9(self):
        import ast

        for path in sorted((PACKAGE / "leasehold").glob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
            for node in ast.walk(tree):
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module]
                for name in names:
                    top = name.split(".")[0]
                    for_type_checkers_only = {"typing_extensions"}
                    known = top in getattr(sys, "stdlib_module_names", {top}) or top in for_type_checkers_only
                    self.assertTrue(known, f"{path.name} imports {name}")


if __name__ == "__main__":
    unittest.main()
