"""Find a Chromium for the browser tests, or install one. `python -m tests.chromium` prints where it is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

# A context of the headless shell takes a sixth of the processor time: it has no windows of its own.
HEADLESS_SHELL = "chromium-headless-shell"
NAMES = (HEADLESS_SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """CHROMIUM from the environment, the system's, or the one that Playwright downloaded."""
    if chosen := os.environ.get("CHROMIUM"):
        return chosen if Path(chosen).exists() else None
    for name in NAMES:
        if path := shutil.which(name):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    """Debian's package where we may, with fonts for Chinese; Playwright's download elsewhere."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], check=True, env=quiet)
        packages = [_debian_package(), "fonts-noto-cjk", "fonts-dejavu-core"]
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages],
            check=True,
            env=quiet,
            stdout=subprocess.DEVNULL,
        )
    else:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


def _debian_package() -> str:
    shown = subprocess.run(["apt-cache", "show", HEADLESS_SHELL], capture_output=True, check=False)
    return HEADLESS_SHELL if shown.returncode == 0 else "chromium"


def main() -> int:
    if find() is None:
        sys.stderr.write("No Chromium found; installing one for the browser tests.\n")
        install()
    path = find()
    if path is None:
        sys.stderr.write("There is still no Chromium. Install one, or name it: CHROMIUM=/path/to/chromium\n")
        return 1
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
