"""In which language a server answers."""

import re

from servers.emulated.document import EmulatedDocument

__all__ = ["spoken_in"]

_HAN = re.compile("[\u4e00-\u9fff]")
_LATIN = re.compile("[A-Za-z]+")
_KANA = re.compile("[\u3040-\u30ff]")


def spoken_in(document: EmulatedDocument) -> str | None:
    """Find the language of a server's answers: that of most of its tools, where it shows, else of its texts.

    Publishers describe a server in English whose tools and whose contents are Chinese.
    """
    chinese = sum(_is_chinese(tool.description) for tool in document.tools)
    return "zh" if chinese * 2 > len(document.tools) else document.language


def _is_chinese(text: str) -> bool:
    """Tell whether a text is Chinese, and not an English one that names something in Chinese.

    A word of Latin letters counts as one Han character. Kana make a text Japanese.
    """
    if _KANA.search(text):
        return False
    return len(_HAN.findall(text)) > len(_LATIN.findall(text))
