"""The ledger for a team, over HTTP: tokens say who may do what; TLS is the work of a proxy before it."""

from indistinct.web.application import application as application
from indistinct.web.desk import Desk as Desk
from indistinct.web.serve import serve as serve
