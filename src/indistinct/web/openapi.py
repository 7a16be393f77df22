"""The document that says what the service offers (OpenAPI 3.1), from the table of routes that it serves."""

from functools import cache
from typing import Any

from indistinct import __version__
from indistinct.web.routes import ERRORS, NAMED, PROBLEM, ROUTES, Route


@cache
def document() -> dict[str, Any]:
    """All routes, what each takes and gives, and who may ask."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "indistinct ledger",
            "version": __version__,
            "description": "A privacy budget that cannot be overspent: accounts, what they may spend, and"
            " who has spent what. Each request carries a token that says who asks and in which role.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {one.name: one.in_full() for one in NAMED},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    who = f"For: {', '.join(route.roles)}." if route.roles else "For everybody."
    told: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.words,
        "description": who,
        "responses": {"200": _answer("What was asked for.", route.media, route.answer.schema())},
    }
    told["responses"] |= {
        str(status): _answer(words, "application/json", PROBLEM.schema())
        for status, words in ERRORS.items()
        if route.roles or status in (429, 500, 503)
    }
    if route.roles:
        told["security"] = [{"token": []}]
    if route.method == "POST":
        content = {"application/json": {"schema": route.given.schema()}}
        told["requestBody"] = {"required": True, "content": content}
    elif route.given.all:
        told["parameters"] = [
            {"name": name, "in": "query", "required": name in route.given.needed, "schema": rule.schema()}
            for name, rule in route.given.all.items()
        ]
    return told


def _answer(words: str, media: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": words, "content": {media: {"schema": schema}}}
