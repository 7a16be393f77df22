"""Heads of journals with a signature: whoever has the public key sees that they are whole, and whose they
are."""

from collections.abc import Mapping
from typing import Any

from indistinct.errors import ArgumentError, needs
from indistinct.ledger.chain import canonical


def signed(ledger: str, heads: list[dict[str, Any]], private_key: bytes) -> dict[str, Any]:
    """The heads of a ledger, and an Ed25519 signature of them."""
    with needs("ledger"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    try:
        key = Ed25519PrivateKey.from_private_bytes(private_key)
    except (TypeError, ValueError):
        raise ArgumentError("private_key", "another", "32 bytes") from None
    content = {"ledger": ledger, "heads": heads}
    return {**content, "signature": key.sign(canonical(content).encode()).hex()}


def signed_heads(content: Mapping[str, Any], public_key: bytes) -> list[dict[str, Any]]:
    """The heads, if the signature is by this key: receipts for `verify`."""
    with needs("ledger"):
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    try:
        key = Ed25519PublicKey.from_public_bytes(public_key)
        plain = {"ledger": content["ledger"], "heads": content["heads"]}
        key.verify(bytes.fromhex(content["signature"]), canonical(plain).encode())
    except (InvalidSignature, KeyError, TypeError, ValueError):
        raise ArgumentError("signature", "another", "of these heads, by this key") from None
    return list(plain["heads"])
