"""The ledger for a team, over HTTP: tokens say who may do what; TLS is the work of a proxy before it."""

from indistinct.web.application import application
from indistinct.web.desk import Desk
from indistinct.web.serve import serve

__all__ = ["Desk", "application", "serve"]
