"""What every judgement of synthetic records says first."""


def not_private(what: str) -> str:
    """That it looks at real `what`, and what follows from that."""
    return (
        f"This looks at real {what} and is not private: no budget pays for these numbers. Use {what} that"
        " were set aside, choose nothing by what it says, and do not publish it as if it were a release."
    )
