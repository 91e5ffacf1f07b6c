"""Root file systems of Debian 12 to install packages into. Needs root."""

import shlex
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
# The mounts of a command end with it.
INSIDE = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec /usr/sbin/chroot "$@"'


def only(pattern):
    """The one file of dist/ with such a name."""
    found = sorted(DIST.glob(pattern))
    if len(found) != 1:
        raise AssertionError(f"dist/ has {[one.name for one in found]} for {pattern}; run ./package first")
    return found[0]


class Failed(AssertionError):
    pass


class Root:
    """A root file system, which ends with this. `template` is a tar file of one."""

    def __init__(self, template):
        self.folder = Path(tempfile.mkdtemp(prefix="leasehold-root."))
        subprocess.run(["tar", "-xf", template, "-C", self.folder, "--exclude=./dev/*"], check=True)
        (self.folder / "proc").mkdir(exist_ok=True)
        (self.folder / "dev").mkdir(exist_ok=True)
        (self.folder / "etc").mkdir(exist_ok=True)
        shutil.copyfile("/etc/resolv.conf", self.folder / "etc/resolv.conf")

    def remove(self):
        shutil.rmtree(self.folder)

    def path(self, path):
        return self.folder / path.lstrip("/")

    def copy(self, path, to="/tmp"):
        self.path(to).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, self.path(to))
        return f"{to}/{Path(path).name}"

    def command(self, *command, user=None, group=None):
        as_user = [f"--userspec={user}:{group or user}"] if user else []
        return ["unshare", "--mount", "sh", "-c", INSIDE, self.folder, *as_user, self.folder, *command]

    def run(self, *command, status=0, environment=None, **how):
        """Runs it inside and returns what it printed. Fails if it ends with another status."""
        done = subprocess.run(self.command(*command, **how), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=900,
                              env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "DEBIAN_FRONTEND": "noninteractive",
                                   "LC_ALL": "C.UTF-8", "HOME": "/root"} | (environment or {}))
        if done.returncode != status:
            raise Failed(f"{shlex.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def apt(self, *arguments):
        return self.run("apt-get", "--quiet", "--quiet", "--yes", "--no-install-recommends", *arguments)

    def install(self, *debs):
        """As `apt install ./FILE.deb` does it."""
        self.apt("update")
        return self.apt("install", *[self.copy(deb) if isinstance(deb, Path) else deb for deb in debs])

    def is_installed(self, package):
        return "install ok installed" in self.run("sh", "-c", f"dpkg-query -W -f '${{Status}}' {package} 2>&1; true")


class Unit:
    """The service of a unit file in a root: its command, as its user, with its folder and its environment."""

    def __init__(self, root, path):
        self.root = root
        self.settings = {}
        for line in root.path(path).read_text().splitlines():
            name, is_setting, value = line.partition("=")
            if is_setting and not line.startswith("#"):
                self.settings[name] = value

    def start(self, port):
        state = self.root.path("/var/lib/" + self.settings["StateDirectory"])
        owner = f"{self.settings['User']}:{self.settings['Group']}"
        if not state.exists():
            self.root.run("install", "-d", "-o", self.settings["User"], "-g", self.settings["Group"],
                          "-m", self.settings["StateDirectoryMode"], "/var/lib/" + self.settings["StateDirectory"])
        environment = {"LEASEHOLD_PORT": str(port)}
        file = self.root.path(self.settings["EnvironmentFile"].lstrip("-"))
        if file.exists():
            environment |= dict(line.split("=", 1) for line in file.read_text().splitlines())
        command = f"umask {self.settings['UMask']}; cd {self.settings['WorkingDirectory']}; exec {self.settings['ExecStart']}"
        user, group = owner.split(":")
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(self.root.command("sh", "-c", command, user=user, group=group), env=environment,
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return self

    def __enter__(self):
        until = time.monotonic() + 60
        while True:
            if self.process.poll() is not None:
                raise Failed("the server ended: " + self.process.stderr.read())
            try:
                return urllib.request.urlopen(self.url + "/readyz", timeout=10) and self
            except (urllib.error.URLError, ConnectionError):
                if time.monotonic() > until:
                    self.__exit__()
                    raise
                time.sleep(0.05)

    def __exit__(self, *_):
        self.process.terminate()
        with self.process.stderr as log:
            self.said = log.read()
        if self.process.wait(60) != 0:
            raise Failed("the server did not stop well: " + self.said)

    def get(self, path):
        return urllib.request.urlopen(self.url + path, timeout=60)


def make_template(path, *options):
    """A tar file of a root file system, once."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.tar")
        subprocess.run([ROOT / "packaging/make/bookworm", part, *options], check=True, stdin=subprocess.DEVNULL)
        part.rename(path)
    return path
