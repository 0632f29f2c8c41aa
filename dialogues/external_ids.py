"""What is kept of the external id of a deleted dialogue."""

import hashlib


def hash_id(external_id: str) -> str:
    """SHA-256 of an external id, which may itself name a person."""
    return hashlib.sha256(external_id.encode()).hexdigest()
