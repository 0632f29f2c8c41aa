"""The modules that a page's script needs, read from its imports, so that the page can preload them.

Without a build step a browser finds a module only after it has read the one that imports it. <link rel=modulepreload>
saves those round trips.
"""

import re
from functools import cache
from pathlib import Path, PurePosixPath

STATIC = Path(__file__).resolve().parent / "static"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STATIC_IMPORT = re.compile(r'^(?:import|export)\s(?:[^;"(]*\bfrom )?"(\.[^"]+)"', re.MULTILINE)
DYNAMIC_IMPORT = re.compile(r'\bimport\("(\.[^"]+)"\)')


@cache
def preloaded(entry: str) -> list[str]:
    """Everything that a module imports, directly or indirectly, by static name ("js/shared/api.js")."""
    modules: dict[str, None] = {}
    waiting = [entry]
    while waiting:
        for name in _imports(waiting.pop(), STATIC_IMPORT):
            if name not in modules and name != entry:
                modules[name] = None
                waiting.append(name)
    return sorted(modules)


@cache
def loaded_on_need(entry: str) -> list[str]:
    """What those modules import dynamically. The service worker caches it, so that it works offline."""
    at_once = [entry, *preloaded(entry)]
    dynamic = {name for module in at_once for name in _imports(module, DYNAMIC_IMPORT)}
    needed = dynamic.union(*(preloaded(name) for name in dynamic))
    return sorted(needed.difference(at_once))


def _imports(module: str, pattern: re.Pattern[str]) -> list[str]:
    source = COMMENT.sub("", (STATIC / module).read_text(encoding="utf-8"))
    return [_resolve(module, path) for path in pattern.findall(source)]


def _resolve(module: str, path: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(module).parent / path).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
