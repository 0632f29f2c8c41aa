"""The version of this client, and the versions of the REST API that it can use."""

from lapidary.errors import ServerTooNew, ServerTooOld

# MAJOR.MINOR is the oldest REST API that has everything this client calls; the last number counts its own fixes.
__version__ = "1.1.0"
HEADER = "Lapidary-Api-Version"
MAJOR, MINOR = (int(part) for part in __version__.split(".")[:2])


def check_api_version(named: str | None, url: str) -> None:
    """Raises ServerTooOld or ServerTooNew unless the server has this MAJOR and at least this MINOR."""
    needed = f"{MAJOR}.{MINOR}"
    if named is None:
        raise ServerTooOld(
            f"{url} does not name the version of its API, so it is older than {needed}, or not a Lapidary server.",
            "Correct the address, upgrade the server, or install an older lapidary.",
        )
    major, _, minor = named.partition(".")
    found = (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else (0, 0)
    if found < (MAJOR, MINOR):
        raise ServerTooOld(
            f"{url} has version {named} of the API; lapidary {__version__} needs {needed}.",
            f"Upgrade the server, or install lapidary=={found[0]}.{found[1]}.*",
        )
    if found[0] > MAJOR:
        raise ServerTooNew(
            f"{url} has version {named} of the API; lapidary {__version__} knows only version {MAJOR}.",
            f"Install lapidary=={found[0]}.*",
        )
