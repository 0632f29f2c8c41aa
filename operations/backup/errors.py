"""What stops a backup or a restore."""


class BackupError(Exception):
    """The message names the cause and the remedy."""
