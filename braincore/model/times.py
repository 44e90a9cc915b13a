"""Times: aware UTC inside, ISO 8601 with `Z` outside."""

from datetime import UTC, date, datetime, time

from braincore.errors import InvalidInput

__all__ = ["age", "iso", "parse_time"]


def iso(at: datetime) -> str:
    """An aware datetime as `2026-11-30T12:00:00.000001Z`."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def parse_time(value: object) -> datetime:
    """The aware UTC time that a date, datetime or ISO 8601 text names; naive means UTC.

    Raises InvalidInput with the forms that are understood.
    """
    try:
        if isinstance(value, datetime):
            at = value
        elif isinstance(value, date):
            at = datetime.combine(value, time())
        else:
            at = datetime.fromisoformat(str(value).strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{value!r} is not a time",
            "Write 2026-01-31, 2026-01-31T12:00:00Z or 2026-01-31T12:00:00+03:00.",
        ) from None


def age(created: str, now: datetime) -> str:
    """How long ago an ISO time was, in the largest whole unit: `3 d`, `5 h`, `now` for less."""
    seconds = (now - parse_time(created)).total_seconds()
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"
