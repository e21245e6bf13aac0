"""Times of day as timetables write them and as people say them; amounts of money."""

__all__ = ["clock_time", "money", "spoken_time"]


def clock_time(minutes: int) -> str:
    """``09:05`` for the minutes since midnight."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def spoken_time(minutes: int, language: str) -> str:
    """``9:05 am``, ``noon``; in Chinese ``上午9点05分``."""
    hour, rest = divmod(minutes, 60)
    if language == "zh":
        part = "上午" if hour < 12 else "中午" if hour == 12 else "下午" if hour < 18 else "晚上"
        return f"{part}{(hour - 1) % 12 + 1}点" + (f"{rest:02d}分" if rest else "")
    if minutes == 12 * 60:
        return "noon"
    return f"{(hour - 1) % 12 + 1}:{rest:02d} {'am' if hour < 12 else 'pm'}"


def money(cents: int, unit: str) -> str:
    """``12.50 EUR``; in Chinese ``12.50元``."""
    return f"{cents // 100}.{cents % 100:02d}{'' if unit == '元' else ' '}{unit}"
