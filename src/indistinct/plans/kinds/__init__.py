"""The kinds of releases that a plan can ask for, each a class that knows its keys."""
