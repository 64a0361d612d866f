"""The content of a page, and names that a browser would take for something else."""

from html.parser import HTMLParser

HOSTILE = [
    "<script>window.hacked = 1</script>", "<img src=x onerror=window.hacked=1>", "\"'></title></svg><b>x",
    "a|b`c`**d** [e](http://evil.example)\n# f", "{{ 7 * 7 }} \x1b[31m\u202e\x00 $x$",
]  # fmt: skip


class Content(HTMLParser):
    """The elements of a page, the ids of its sections, the rows of its tables, and its addresses."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.sections, self.rows, self.addresses = [], [], [], []
        self.text, self.inside = "", False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        found = dict(attributes)
        self.addresses += [found[name] for name in ("href", "src", "xlink:href", "data") if name in found]
        if tag == "section":
            self.sections.append(found["id"])
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside &= tag not in ("td", "th")

    def handle_data(self, data):
        self.text += data
        if self.inside:
            self.rows[-1][-1] += data

    def rows_of(self, name: str) -> list[list[str]]:
        return [[" ".join(cell.split()) for cell in row[1:]] for row in self.rows if row[0].strip() == name]
