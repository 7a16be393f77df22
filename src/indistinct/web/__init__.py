"""The ledger for a team, over HTTP: who may do what is said by tokens; TLS is the work of a proxy before it."""

from indistinct.web.application import application
from indistinct.web.desk import Desk
from indistinct.web.serve import serve

__all__ = ["Desk", "application", "serve"]
