#!/usr/bin/env python3
"""Tests of the files that ./package has made in dist/. Needs root, and a network to install dependencies from."""

import gzip
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import tarfile
import tempfile
import unittest
import urllib.error
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from roots import DIST, ROOT, Root, Unit, make_template, only  # noqa: E402

VERSION = subprocess.check_output([ROOT / "packaging/version"], text=True).strip()
TEMPLATES = ROOT / "build/packages-test"
SYSTEM = TEMPLATES / "system.tar"  # with apt
BARE = TEMPLATES / "bare.tar"      # nothing but libc6 and a shell


def setUpModule():
    # The tool that makes the user comes with systemd, which is too much for a test.
    make_template(SYSTEM, "--variant=apt", "--skip=cleanup/apt/lists", "--include=systemd-standalone-sysusers,ca-certificates,usr-is-merged")
    make_template(BARE, "--variant=extract", "--include=libc6,dash,coreutils")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def deb(package):
    return only(f"{package}_*.deb")


def field(path, name):
    return subprocess.check_output(["dpkg-deb", "-f", path, name], text=True).strip()


class InARoot(unittest.TestCase):
    template = SYSTEM

    def setUp(self):
        self.root = Root(self.template)
        self.addCleanup(self.root.remove)


class TheDebianPackages(unittest.TestCase):
    def test_have_no_error_and_no_warning_of_lintian(self):
        said = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", *sorted(DIST.glob("*.deb"))], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(said.returncode, 0, said.stdout)

    def test_of_a_host_that_uses_a_server_need_no_client_of_a_database(self):
        needs = field(deb("leasehold-client"), "Depends")
        self.assertNotRegex(needs, "libpq|libmariadb|systemd")
        self.assertRegex(field(deb("leasehold"), "Depends"), "libpq5.*|libmariadb3")

    def test_have_one_version(self):
        for path in DIST.glob("*.deb"):
            self.assertEqual(field(path, "Version"), VERSION + "-1", path.name)

    def test_need_neither_this_machine_nor_this_folder(self):
        for path in DIST.glob("*.deb"):
            tree = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE, check=True).stdout
            self.assertNotIn(str(ROOT).encode(), tree, path.name)
            self.assertNotIn(b"build/package/", tree, path.name)


class TheUnit(InARoot):
    def test_is_right_and_sees_little_of_the_machine(self):
        self.root.install(deb("leasehold"), "systemd", "procps")
        unit = "/lib/systemd/system/leasehold.service"
        self.assertEqual(self.root.run("systemd-analyze", "verify", "--man=no", unit), "")
        self.root.run("systemd-analyze", "security", "--offline=yes", "--threshold=15", "--no-pager", unit)


class APackage(InARoot):
    """The life of an installation."""

    def previous(self):
        """No version was released yet. This is the same package under a lower number."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["dpkg-deb", "-R", deb("leasehold"), folder], check=True)
            control = Path(folder, "DEBIAN/control")
            control.write_text(re.sub("^Version: .*$", "Version: 0.0.9-1", control.read_text(), flags=re.M))
            out = self.root.path("/tmp/leasehold-0.0.9.deb")
            subprocess.run(["dpkg-deb", "--root-owner-group", "-b", folder, out], check=True, stdout=subprocess.DEVNULL)
        return "/tmp/leasehold-0.0.9.deb"

    def make_schema_older(self):
        """The file as the first version of the schema has it."""
        statements = [f"alter table {table} drop column token_id" for table in ("locks", "lock_shares", "lock_history")]
        script = ";".join([*statements, "update leasehold set value = 1 where name = 'schema'"])
        subprocess.run(["sqlite3", self.root.path("/var/lib/leasehold/leasehold.db"), script], check=True)

    def serving(self):
        return Unit(self.root, "/lib/systemd/system/leasehold.service").start(free_port())

    def leasehold(self, *arguments, **how):
        return self.root.run("leasehold", *arguments, **how)

    def test_serves_is_upgraded_removed_and_purged(self):
        self.root.install(self.previous())
        self.assertRegex(self.root.run("getent", "passwd", "leasehold"), "/var/lib/leasehold:/usr/sbin/nologin")
        with self.serving() as server:
            url = server.url
            for number in range(200):
                self.leasehold("try", f"Order/{number}", "--owner", "alice", "--ttl", "1h", "--store", url)
            mine = json.loads(self.leasehold("try", "Order/mine", "--owner", "bob", "--ttl", "1h", "--json", "--store", url))
        database = self.root.path("/var/lib/leasehold/leasehold.db")
        self.assertEqual(database.stat().st_mode & 0o777, 0o600)
        self.assertEqual(database.parent.stat().st_mode & 0o777, 0o700)
        self.assertEqual(database.stat().st_uid, int(self.root.run("id", "-u", "leasehold")))
        self.make_schema_older()
        settings = self.root.path("/etc/leasehold/leasehold.toml")
        settings.write_text(settings.read_text() + 'default_ttl = "7m"\n')

        self.root.install(deb("leasehold"))
        self.assertIn('default_ttl = "7m"', settings.read_text())
        with self.serving() as server:
            held = self.leasehold("ls", "--store", server.url)
            self.assertEqual(held.count("alice"), 200)
            self.assertIn("bob", held)
            self.leasehold("try", "Order/mine", "--owner", "carol", "--store", server.url, status=1)
            self.leasehold("release", "Order/mine", "--lock-id", mine["lease"]["lock_id"], "--store", server.url)
            later = json.loads(self.leasehold("try", "Order/mine", "--owner", "carol", "--json", "--store", server.url))
            self.assertGreater(later["lease"]["fence"], mine["lease"]["fence"])

        self.root.apt("remove", "leasehold")
        self.assertFalse(self.root.path("/usr/bin/leasehold").exists())
        self.assertTrue(database.exists())
        self.assertTrue(settings.exists())
        self.root.install(deb("leasehold"))
        with self.serving() as server:
            self.assertEqual(self.leasehold("ls", "--store", server.url).count("alice"), 200)

        self.root.path("/etc/leasehold/environment").write_text("LEASEHOLD_STORE=postgres://app:secret@db/shop\n")
        self.root.apt("purge", "leasehold")
        self.assertFalse(database.parent.exists())
        self.assertFalse(self.root.path("/etc/leasehold").exists())

    def test_serves_the_documentation_where_it_is_installed(self):
        self.root.install(deb("leasehold"))
        with self.serving() as server:
            with self.assertRaises(urllib.error.HTTPError):
                server.get("/docs/")
        self.root.install(deb("leasehold-doc"))
        with self.serving() as server:
            page = server.get("/docs/index.html")
            self.assertEqual(page.headers["Content-Encoding"], "gzip")
            self.assertEqual(server.get("/docs").url, server.url + "/docs/")
            self.assertTrue(os.readlink(self.root.path("/usr/share/doc/leasehold-doc/html")).endswith("leasehold/docs"))
            docs = self.root.path("/usr/share/leasehold/docs")
            for file in docs.rglob("*"):
                if file.is_file() and file.suffix != ".gz" and file.name != "from_disk.js":
                    server.get(f"/docs/{file.relative_to(docs)}").close()

    def test_of_the_command_alone_uses_a_server_and_gives_way_to_the_whole(self):
        self.root.install(deb("leasehold"))
        with self.serving() as server:
            other = Root(self.template)
            self.addCleanup(other.remove)
            other.install(deb("leasehold-client"))
            self.assertFalse(other.is_installed("libpq5") or other.is_installed("libmariadb3"))
            environment = {"LEASEHOLD_STORE": server.url}
            self.assertIn("done", other.run("leasehold", "run", "nightly", "--", "echo", "done", environment=environment))
            refused = other.run("leasehold", "try", "a", "--store", "postgres://app@db/shop", status=2)
            self.assertIn("this build has", refused)
        other.install(deb("leasehold"))
        self.assertFalse(other.is_installed("leasehold-client"))
        self.assertTrue(other.is_installed("libpq5"))

    def test_has_completion_and_a_manual(self):
        self.root.install(deb("leasehold"))
        for path in ("man/man1/leasehold.1.gz", "bash-completion/completions/leasehold",
                     "zsh/vendor-completions/_leasehold", "fish/vendor_completions.d/leasehold.fish"):
            self.assertGreater(self.root.path(f"/usr/share/{path}").stat().st_size, 0)


class TheLibrary(InARoot):
    """What docs/install.md and the first tutorial tell, with packages alone."""

    def blocks(self, page, language):
        return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)

    def test_builds_the_first_tutorial(self):
        self.root.install(deb("libleasehold0.1"), deb("libleasehold-dev"), deb("libsqlite3-mod-leasehold"),
                          "g++", "cmake", "make", "pkg-config", "libcpp-httplib-dev", "libsqlite3-dev", "sqlite3")
        folder = self.root.path("/root/note")
        folder.mkdir()
        (folder / "note.cpp").write_text(self.blocks("docs/web-kit.md", "cpp")[0])
        (folder / "CMakeLists.txt").write_text(self.blocks("docs/tutorials/web-form.md", "cmake")[0])
        self.root.run("sh", "-exc", "cd /root/note; cmake -S . -B build; cmake --build build")
        linked = self.root.run("ldd", "/root/note/build/note")
        self.assertIn("libleasehold_web.so.0.1", linked)
        self.assertNotRegex(linked, "not found|libpq|libmariadb")

        # With pkg-config, and with the static libraries.
        (self.root.path("/root") / "app.cpp").write_text(self.blocks("docs/library.md", "cpp")[0])
        self.root.run("sh", "-exc", "cd /root; c++ -std=c++23 app.cpp -o app $(pkg-config --cflags --libs leasehold_sqlite); ./app")
        self.root.run("sh", "-exc", "cd /root; c++ -std=c++23 app.cpp -o static -Wl,-Bstatic -lleasehold_sqlite -lleasehold_core "
                      "-Wl,-Bdynamic -lsqlite3; ./static")
        self.assertNotIn("libleasehold", self.root.run("ldd", "/root/static"))
        project = self.root.path("/root/static-project")
        project.mkdir()
        (project / "app.cpp").write_text(self.blocks("docs/library.md", "cpp")[0])
        (project / "CMakeLists.txt").write_text(self.blocks("docs/library.md", "cmake")[0])
        self.root.run("sh", "-exc", "cd /root/static-project; cmake -S . -B build -Dleasehold_USE_STATIC_LIBS=ON; "
                      "cmake --build build; build/app")
        self.assertNotIn("libleasehold", self.root.run("ldd", "/root/static-project/build/app"))

        # The extension of SQLite.
        library = self.root.run("sh", "-c", "ls /usr/lib/*/leasehold/leasehold.so").strip()
        said = self.root.run("sqlite3", "/root/app.db", f".load {library}", "select leasehold_guard('a', 'b', 'c')", status=1)
        self.assertNotIn("no such function", said)


class TheTarball(InARoot):
    template = BARE

    def setUp(self):
        super().setUp()
        self.path = only("leasehold-*-linux-*.tar.gz")
        with tarfile.open(self.path) as tar:
            tar.extractall(self.root.path("/opt"))
        self.home = "/opt/" + self.path.name.removesuffix(".tar.gz")

    def programs(self):
        for path in self.root.path(self.home).rglob("*"):
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
                yield path

    def test_needs_nothing_but_glibc(self):
        of_glibc = re.compile(r"(libc|libm|libresolv|libdl|librt|libpthread)\.so\.\d$|ld-linux.*\.so\.\d$")
        brought = {path.name for path in self.programs()}
        newest = (0, 0)
        for program in self.programs():
            said = subprocess.check_output(["readelf", "--dynamic", "--version-info", program], text=True)
            for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", said):
                self.assertTrue(needed in brought or of_glibc.match(needed), f"{program.name} needs {needed}")
            self.assertRegex(said, r"RUNPATH.*\[\$ORIGIN", program.name)
            newest = max([newest] + [tuple(map(int, one)) for one in re.findall(r"GLIBC_(\d+)\.(\d+)", said)])
        self.assertLessEqual(newest, (2, 36))

    def test_runs_where_there_is_nothing_else(self):
        self.assertFalse(self.root.path("/usr/lib/x86_64-linux-gnu/libstdc++.so.6").exists())
        command = self.home + "/bin/leasehold"
        self.root.run(command, "--version")
        self.root.run(command, "try", "Order/1", "--owner", "alice", "--store", "sqlite:/tmp/locks.db")
        self.root.run(command, "try", "Order/1", "--owner", "bob", "--store", "sqlite:/tmp/locks.db", status=1)
        self.assertIn("done", self.root.run(command, "run", "nightly", "--store", "sqlite:/tmp/locks.db", "--", "echo", "done"))
        # Every store is there: the drivers load, and find no server.
        for store in ("postgres://app@127.0.0.1:1/x", "mysql://app@127.0.0.1:1/x", "mariadb://app@127.0.0.1:1/x",
                      "etcd://127.0.0.1:1", "http://127.0.0.1:1"):
            said = self.root.run(command, "ls", "--store", store, status=3)
            self.assertNotRegex(said, "shared object|no store", store)

    def test_serves_with_its_documentation(self):
        service = self.root.path("/etc/leasehold.service")
        service.parent.mkdir(exist_ok=True)
        service.write_text(
            f"User=0\nGroup=0\nStateDirectory=leasehold\nStateDirectoryMode=700\nUMask=0077\nEnvironmentFile=-/none\n"
            f"WorkingDirectory=/tmp\nExecStart={self.home}/bin/leasehold serve --store sqlite:/tmp/served.db\n")
        with Unit(self.root, "/etc/leasehold.service").start(free_port()) as server:
            self.assertEqual(server.get("/docs/").status, 200)
            self.root.run(self.home + "/bin/leasehold", "try", "a", "--store", server.url)

    def test_has_the_copyright_of_everything_that_it_brings(self):
        folder = self.root.path(self.home) / "share/doc/leasehold/copyright"
        names = {path.name for path in folder.iterdir()}
        self.assertLessEqual({"leasehold", "libstdc++6", "libssl3", "libpq5", "libmariadb3", "libsqlite3-0"}, names)


class TheImage(unittest.TestCase):
    def setUp(self):
        self.archive = tarfile.open(only("leasehold-*-oci.tar"))
        self.addCleanup(self.archive.close)

    def json(self, name):
        return json.loads(self.archive.extractfile(name).read())

    def blob(self, described):
        content = self.archive.extractfile("blobs/" + described["digest"].replace(":", "/")).read()
        self.assertEqual("sha256:" + hashlib.sha256(content).hexdigest(), described["digest"])
        self.assertEqual(len(content), described["size"])
        return content

    def parts(self):
        manifest, = self.json("index.json")["manifests"]
        manifest = json.loads(self.blob(manifest))
        layer, = manifest["layers"]
        return json.loads(self.blob(manifest["config"])), self.blob(layer)

    def test_is_an_oci_layout_that_docker_loads_too(self):
        self.assertEqual(self.json("oci-layout"), {"imageLayoutVersion": "1.0.0"})
        config, layer = self.parts()
        self.assertEqual(["sha256:" + hashlib.sha256(gzip.decompress(layer)).hexdigest()], config["rootfs"]["diff_ids"])
        docker, = self.json("manifest.json")
        self.assertEqual(json.loads(self.archive.extractfile(docker["Config"]).read()), config)

    def test_runs_as_its_user_with_settings_of_the_environment(self):
        config, layer = self.parts()
        run = config["config"]
        self.assertNotIn(run["User"].split(":")[0], ("", "0", "root"))
        self.assertEqual(run["Volumes"], {"/var/lib/leasehold": {}})
        with tempfile.NamedTemporaryFile(suffix=".tar.gz") as file:
            file.write(layer)
            file.flush()
            root = Root(file.name)
        self.addCleanup(root.remove)
        user, group = run["User"].split(":")
        environment = dict(one.split("=", 1) for one in run["Env"])

        # Everybody can reach it: it demands tokens.
        said = root.run(*run["Entrypoint"], *run["Cmd"], user=user, group=group, environment=environment, status=2)
        self.assertIn("token", said)

        root.path("/etc/tokens.toml").write_text(root.run(
            "sh", "-c", "leasehold token shop --roles use,see --owner shop --token-file /tmp/token 2>/dev/null"))
        token = root.path("/tmp/token").read_text().strip()
        root.path("/service").write_text(
            f"User={user}\nGroup={group}\nStateDirectory=leasehold\nStateDirectoryMode=700\nUMask=0077\nEnvironmentFile=-/env\n"
            f"WorkingDirectory={run['WorkingDir']}\nExecStart={' '.join(run['Entrypoint'] + run['Cmd'])}\n")
        root.path("/env").write_text("".join(f"{name}={value}\n" for name, value in
                                             (environment | {"LEASEHOLD_TOKENS": "/etc/tokens.toml"}).items()))
        port = free_port()
        probe = run["Healthcheck"]["Test"]
        self.assertEqual(probe[0], "CMD")
        at_port = environment | {"LEASEHOLD_PORT": str(port)}
        with Unit(root, "/service").start(port) as server:
            root.run(*probe[1:], environment=at_port)
            root.run("leasehold", "try", "Order/1", "--owner", "shop", "--store", server.url,
                     environment={"LEASEHOLD_TOKEN": token})
        self.assertEqual(root.path("/var/lib/leasehold/leasehold.db").stat().st_uid, int(user))
        with self.assertRaises(AssertionError):
            root.run(*probe[1:], environment=at_port)


class WhatIsReleased(unittest.TestCase):
    def test_has_a_sum_of_every_file(self):
        said = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=DIST)
        self.assertEqual(said.returncode, 0)
        named = {line.split()[1] for line in (DIST / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual(named, {path.name for path in DIST.iterdir()} - {"SHA256SUMS"})

    def test_is_described_by_its_bill_of_materials(self):
        bill = json.loads(only("*.spdx.json").read_text())
        self.assertEqual((bill["spdxVersion"], bill["dataLicense"]), ("SPDX-2.3", "CC0-1.0"))
        packages = {one["SPDXID"]: one for one in bill["packages"]}
        known = set(packages) | {one["SPDXID"] for one in bill["files"]} | {"SPDXRef-DOCUMENT"}
        self.assertEqual(len(known), len(bill["packages"]) + len(bill["files"]) + 1)
        related = {}
        for one in bill["relationships"]:
            self.assertLessEqual({one["spdxElementId"], one["relatedSpdxElement"]}, known)
            related.setdefault((one["spdxElementId"], one["relationshipType"]), set()).add(
                packages.get(one["relatedSpdxElement"], {}).get("name"))
        for path in DIST.iterdir():
            if path.name == "SHA256SUMS" or path.name.endswith(".spdx.json"):
                continue
            entry, = [one for one in packages.values() if one.get("packageFileName") == path.name]
            self.assertEqual(entry["checksums"][0]["checksumValue"], hashlib.sha256(path.read_bytes()).hexdigest())
            if path.suffix == ".deb":
                needs = {re.match("[a-z0-9.+-]+", one).group() for one in field(path, "Depends").split(", ") if one}
                self.assertEqual(len(related.get((entry["SPDXID"], "DEPENDS_ON"), ())), len(needs), path.name)
            if path.name.endswith(("-oci.tar", "x86_64.tar.gz", "aarch64.tar.gz")):
                self.assertLessEqual({"libssl3", "libstdc++6", "libpq5"}, related[entry["SPDXID"], "CONTAINS"])
        self.assertTrue(all(re.match(r"\./[\w.-]+$", one["fileName"]) for one in bill["files"]))

    def test_has_a_section_of_the_changelog(self):
        self.assertIn(f"\n## {VERSION}", (ROOT / "CHANGELOG.md").read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
