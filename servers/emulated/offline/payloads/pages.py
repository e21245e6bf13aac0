"""Pages, articles and documents: several paragraphs on what an address, a title or a path spells."""

import re
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import unquote, urlsplit

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.nouns import key_of
from servers.emulated.offline.payloads.asking import Asked, titled
from servers.emulated.offline.payloads.passages import Section, sections_on
from servers.emulated.offline.promises import Form
from servers.emulated.offline.result_lists import Answer
from servers.emulated.verbs import Verb

__all__ = ["address_of", "document_told", "links_told", "navigated", "page_told", "visited"]

URLS: Final = (
    "url", "link", "website", "page_url", "urls", "uri", "webpage_url", "target_url", "website_url", "article_url",
    "site_url", "doc_url", "src", "uris", "links", "webpage", "site",
)  # fmt: skip
_FETCHING: Final = frozenset(
    ("fetch", "scrape", "crawl", "extract", "get", "read", "load", "browse", "visit", "parse", "url", "download", "open",
     "retrieve", "view", "convert", "reader", "scraper", "to", "show", "render")
)  # fmt: skip
_PAGES: Final = frozenset(
    ("url", "page", "pages", "txt", "text", "html", "markdown", "md", "json", "website", "web", "webpage", "content",
     "contents", "site", "scrape", "fetch", "extract", "crawl", "article", "readable", "document", "documentation",
     "docs", "doc", "story", "blog", "scraper", "reader", "llms", "body")
)  # fmt: skip
_TELLING: Final = frozenset(
    ("openapi", "spec", "summarize", "summarise", "summary", "translate", "ask", "analyze", "analyse", "image", "images", "links",
     "metadata", "screenshot", "video", "info", "status", "schema", "table", "tables", "list", "search", "sitemap",
     "headers", "pdf2image", "playlist", "whois", "audit", "check", "shorten", "qr", "map", "transcript", "captions",
     "comments", "structure", "tree", "job", "company", "profile", "product", "id", "title", "history", "test", "xss", "injection", "revision", "revisions", "versions", "index",
     "outline", "properties", "property", "children", "type", "types", "backlinks", "categories", "category", "count", "token", "price")
)  # fmt: skip
"""Something beside the text of a page is asked for."""
_TEXTS: Final = frozenset(
    ("content", "contents", "text", "article", "document", "documentation", "docs", "doc", "readme", "guide", "page",
     "markdown", "html", "pdf", "docx", "chapter", "tutorial", "reference", "manual", "wiki", "whitepaper", "resource",
     "full", "wikipedia", "section")
)  # fmt: skip
_TITLES: Final = (
    "title", "topic", "page_title", "article_title", "doc_name", "document_name", "page_name", "name", "page_path",
    "path", "file_path", "filepath", "filename", "pdf_path", "doc_path", "file", "slug", "section", "query",
    "library", "library_name", "package", "package_name", "component", "component_name", "technology", "framework",
    "page", "article", "doc_id", "document_id", "page_id", "article_id", "id", "uri", "file_name", "subject",
    "resource", "feature", "concept", "keyword", "library_id", "context7_compatible_library_id",
)  # fmt: skip
_GETTING: Final = frozenset(("", "get", "fetch", "read", "show", "retrieve", "view", "load", "display", "extract",
                             "lookup", "open", "describe"))  # fmt: skip
_BROWSING: Final = frozenset(("navigate", "goto", "visit", "browse", "open"))
_OPENED: Final = frozenset(
    (
        "content",
        "text",
        "html",
        "markdown",
        "snapshot",
        "body",
        "page",
        "source",
        "readable",
        "accessibility",
        "visible",
    )
)
_WRITTEN: Final = frozenset(("content", "body", "text", "markdown", "html", "abstract"))
"""Members that hold what a document says."""
_KINDS: Final = (
    ("wiki", re.compile(r"wiki|britannica|encyclop")),
    ("readme", re.compile(r"^(?:www\.)?(?:github|gitlab|bitbucket)\.\w+$")),
    ("docs", re.compile(r"^docs?\.|developer|readthedocs|/docs?/|/reference|/api/|/guide|/tutorial|manual|llms")),
)  # fmt: skip
_RESERVED: Final = re.compile(r"^(?:www\.)?example\.(?:com|org|net|edu)$")
_RESERVED_TEXT: Final = (
    "This domain is for use in illustrative examples in documents. You may use this domain in literature without"
    " prior coordination or asking for permission.\n\n[More information...](https://www.iana.org/domains/example)"
)
"""What stands at the domains that are kept for examples (RFC 2606)."""
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


@dataclass(frozen=True, slots=True)
class Page:
    """A page as a reader sees it."""

    url: str | None
    title: str
    sections: tuple[Section, ...]

    @property
    def markdown(self) -> str:
        parts = [f"# {self.title}"]
        for section in self.sections:
            parts += [f"## {section.heading}"] if section.heading else []
            parts.append(section.text)
        return "\n\n".join(parts)

    @property
    def text(self) -> str:
        """The page without marks."""
        plain = re.sub(r"\[!\[[^\n]*", "", self.markdown)
        plain = re.sub(r"(?<!\*)\*([^*\n]+)\*(?!\*)", r"\1", plain)
        plain = _LINK.sub(r"\1", re.sub(r"```\w*\n?|\*\*|`|(?m:^#+ )", "", plain))
        return re.sub(r"\n{3,}", "\n\n", plain).strip()

    @property
    def html(self) -> str:
        title = escape(self.title)
        body = "\n".join(_html_of(block) for block in self.markdown.split("\n\n"))
        return (
            f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
            f"</head>\n<body>\n{body}\n</body>\n</html>"
        )

    @property
    def links(self) -> list[tuple[str, str]]:
        return [(match.group(1), match.group(2)) for match in _LINK.finditer(self.markdown)]


def _html_of(block: str) -> str:
    heading = re.match(r"(#{1,3}) (.+)", block)
    if heading:
        level = len(heading.group(1))
        return f"<h{level}>{escape(heading.group(2))}</h{level}>"
    if block.startswith("```"):
        return f"<pre><code>{escape(re.sub(r'```[a-z]*', '', block).strip())}</code></pre>"
    inner = escape(block, quote=False)
    inner = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", inner)
    inner = _LINK.sub(
        r'<a href="\2">\1</a>', re.sub(r"(?<!\*)\*([^*\n]+)\*", r"<em>\1</em>", inner)
    )
    if block.startswith("- "):
        items = "".join(f"<li>{line[2:]}</li>" for line in inner.split("\n"))
        return f"<ul>{items}</ul>"
    return f"<p>{inner}</p>"


def address_of(asked: Asked) -> str | None:
    """The address that a call names, if it is one."""
    value = asked.text(*URLS)
    if value is None or " " in value or "." not in value:
        return None
    return value


def visited(asked: Asked) -> str | None:
    """The address that a call leaves open in a browser."""
    return address_of(asked) if asked.has(_BROWSING) else None


def navigated(asked: Asked) -> Answer | None:
    """What a call is told that opens a page in a browser, or asks what the open one is."""
    is_kept = asked.call.reading.verb in (Verb.CREATE, Verb.UPDATE, Verb.DELETE)
    address = visited(asked)
    if address is not None and not is_kept and not asked.has(_OPENED - {"page"}):
        page = page_at(asked, address)
        told: JsonObject = {"success": True, "url": page.url, "title": page.title, "status": 200}
        return Answer(told)
    if asked.opened is not None and asked.has(("evaluate", "eval", "javascript", "url", "title")):
        page = page_at(asked, asked.opened)
        script = asked.text("script", "expression", "code", "function", "javascript") or ""
        if "title" in script or asked.names[-1:] == ("title",):
            return Answer({"result": page.title})
        if "location" in script or "URL" in script or asked.names[-2:] == ("current", "url"):
            return Answer({"result": page.url})
    return None


_PATHS: Final = (
    "",
    "about",
    "products",
    "pricing",
    "blog",
    "blog/release-notes",
    "docs",
    "docs/getting-started",
    "contact",
    "privacy",
)


def links_told(asked: Asked) -> Answer | None:
    """What a call is told that asks for the addresses of a site."""
    address = address_of(asked)
    is_asked = (
        asked.has(("sitemap", "links", "urls"))
        or {"map", "site"} <= asked.words
        or asked.names[-1:] == ("map",)
    )
    if (
        address is None
        or not is_asked
        or asked.call.reading.verb in (Verb.CREATE, Verb.UPDATE, Verb.DELETE)
    ):
        return None
    parts = urlsplit(address if "//" in address else f"https://{address}")
    paths = _PATHS[: asked.number("limit", "max_links", "max_urls", "count")]
    links: list[JsonValue] = [f"{parts.scheme}://{parts.netloc}/{path}" for path in paths]
    return Answer({"url": address, "links": links, "total": len(links)})


def page_told(asked: Asked) -> Answer | None:
    """What a call is told that asks for the page at an address, or for the one that is open."""
    address = address_of(asked)
    if asked.call.reading.verb not in (Verb.GET, Verb.OTHER):
        return None
    if "download" in asked.words and not asked.has(("content", "text", "page", "html", "markdown")):
        return None
    if address is None:
        return _open_page(asked)
    if asked.has(_TELLING - {"id"}) or not asked.has(_FETCHING) or not asked.has(_PAGES):
        return None
    return _in_form(asked, page_at(asked, address), _lengths(asked))


def _open_page(asked: Asked) -> Answer | None:
    """The content of the page that the session opened."""
    if asked.opened is None or not asked.has(_OPENED) or asked.has(_TELLING):
        return None
    page = page_at(asked, asked.opened)
    if asked.has(("snapshot", "accessibility")):
        return Answer({"snapshot": _snapshot(page)}, text=_snapshot(page))
    return _in_form(asked, page, _lengths(asked))


def _snapshot(page: Page) -> str:
    lines = [
        f"- Page URL: {page.url}",
        f"- Page Title: {page.title}",
        "- Page Snapshot:",
        "```yaml",
    ]
    lines += ["- generic [ref=e1]:", f'  - heading "{page.title}" [level=1] [ref=e2]']
    at = 3
    for section in page.sections:
        if section.heading:
            lines.append(f'  - heading "{section.heading}" [level=2] [ref=e{at}]')
            at += 1
        text = " ".join(_LINK.sub(r"\1", section.text).replace("**", "").split())
        lines.append(f"  - paragraph [ref=e{at}]: {text[:160]}")
        at += 1
    lines += [f'  - link "{name}" [ref=e{at + n}]' for n, (name, _) in enumerate(page.links)]
    return "\n".join([*lines, "```"])


def _lengths(asked: Asked) -> tuple[int, int | None]:
    """Where a text is to begin and how long it may be."""
    start = asked.number("start_index", "start", "offset") or 0
    return start, asked.number(
        "max_length", "max_chars", "max_characters", "max_content_length", "limit_chars"
    )


def page_at(asked: Asked, address: str) -> Page:
    """The page at an address: the same for all who ask for it."""
    parts = urlsplit(address if "//" in address else f"https://{address}")
    host = (parts.hostname or address).removeprefix("www.")
    url = address if "//" in address else f"https://{address}"
    if _RESERVED.match(host) and parts.path in ("", "/"):
        return Page(url, "Example Domain", (Section("", _RESERVED_TEXT),))
    steps = [*filter(None, unquote(parts.path).split("/"))]
    spelled = [titled(re.sub(r"\.\w{2,5}$", "", s)) for s in steps if re.search(r"[^\W\d_]{3}", s)]
    site = titled(host.split(".")[-2] if "." in host else host)
    title = spelled[-1] if spelled else site
    topic = _in_a_sentence(steps[-1]) if spelled and re.search(r"[^\W\d_]{3}", steps[-1]) else title
    kind = next(
        (kind for kind, form in _KINDS if form.search(host) or form.search(parts.path)), None
    )
    kind = kind or ("article" if spelled else "home")
    rng = asked.rng.at("page", url)
    if parts.path.endswith(("llms.txt", "llms-full.txt")):
        title, topic, kind = site, site, "llms"
    sections = sections_on(
        topic, kind, asked.wording, rng, asked.now, site=site, host=host, url=url.rstrip("/")
    )
    return Page(url, title, tuple(sections))


def _in_a_sentence(step: str) -> str:
    """What a step of an address spells, as it stands within a sentence."""
    words = re.split(r"[-_+\s]+", re.sub(r"\.\w{2,5}$", "", step).strip("-_+ "))
    if len(words) > 1 and words[0].istitle() and all(word.islower() for word in words[1:]):
        words[0] = words[0].lower()
    return " ".join(words)


def _is_document(asked: Asked) -> bool:
    """Say whether a tool gives the text of a document."""
    reading = asked.call.reading
    if reading.verb not in (Verb.GET, Verb.OTHER) or reading.word not in _GETTING:
        return False
    is_other = asked.promise.form in (Form.LIST, Form.NUMBER, Form.FLAG)
    is_listed = asked.is_given_out and asked.call.own is None
    return asked.has(_TEXTS) and not (asked.has(_TELLING) or is_other or is_listed)


def document_told(asked: Asked) -> Answer | None:
    """What a call is told that asks for the text of an article or a document by its title or path."""
    if not _is_document(asked):
        return None
    shown = asked.thing and {key_of(name): value for name, value in asked.thing.items()}
    title = asked.text(*_TITLES)
    if shown:
        called = (str(shown[key]) for key in ("title", "name", "subject") if shown.get(key))
        title = next((c for c in called if not re.fullmatch(r"\w+(?: \w+)? \d+", c)), title)
    if shown and not shown.keys().isdisjoint(_WRITTEN):
        return None
    if title is None or not re.search(r"[^\W\d_]{2}", title):
        return None
    is_doc = asked.has(("doc", "docs", "documentation", "guide", "tutorial", "reference", "manual"))
    kind = (
        "wiki"
        if {"wikipedia", "encyclopedia"} & asked.server or "article" in asked.words
        else "report"
    )
    kind = "readme" if "readme" in asked.words else "docs" if is_doc else kind
    stem = titled(re.sub(r"\.\w{2,5}$", "", title.rstrip("/").rpartition("/")[2]))
    rng = asked.rng.at("page", title)
    sections = sections_on(stem, kind, asked.wording, rng, asked.now, url=stem, site=stem)
    page = Page(None, stem, tuple(sections))
    answer = _in_form(asked, page, _lengths(asked))
    if asked.thing is None or answer.text is not None:
        return answer
    return Answer({**asked.thing, **{k: v for k, v in answer.shown.items() if k != "title"}})


def _in_form(asked: Asked, page: Page, lengths: tuple[int, int | None]) -> Answer:
    """The page as it is asked for: HTML, Markdown, text, or a record that holds it."""
    form = asked.promise.form
    wanted = asked.text(
        "format", "output_format", "formats", "return_format", "extract_format", "response_format"
    )
    wanted = (wanted or "").casefold()
    if "html" in asked.said and not re.search(r"markdown|text|without html", asked.said):
        form = Form.HTML
    is_record = "json" in asked.words and form is not Form.HTML
    if form is Form.HTML or ("html" in asked.words and "to" not in asked.words) or wanted == "html":
        text = page.html
    elif form is Form.TEXT or asked.has(("txt", "text")) or wanted in ("text", "txt", "plain"):
        text = page.text
    else:
        text = page.markdown
    start, most = lengths
    whole = len(text)
    text = text[start : None if most is None else start + most]
    is_told = form is not Form.HTML and (form is Form.RECORD or bool(asked.promise.members))
    if is_record or wanted == "json" or is_told:
        return Answer(_record(asked, page, text, whole))
    if most is not None and start + most < whole:
        more = f"\n\n<error>Content truncated. Call the {asked.call.tool.name} tool with a start_index of"
        text += f"{more} {start + most} to get more content.</error>"
    return Answer({"content": text}, text=text)


def _record(asked: Asked, page: Page, text: str, whole: int) -> JsonObject:
    told: JsonObject = {} if page.url is None else {"url": page.url}
    told |= {"title": page.title, "content": text, "word_count": len(text.split()), "length": whole}
    if page.url is not None:
        told["status_code"] = 200
    links: list[JsonValue] = [{"text": name, "href": href} for name, href in page.links]
    if links and "link" in asked.said:
        told["links"] = links
    return told
