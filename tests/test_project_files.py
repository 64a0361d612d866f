"""The files beside the package: changelog, citation, and the site's pages."""

import re
import tomllib
from collections import Counter

import yaml

import salience
from documents import ROOT


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_changelog_has_the_version_of_the_package_or_the_next_one_on_top():
    versions = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (.+)$", read("CHANGELOG.md"), re.M)
    numbers = [tuple(map(int, version.split("."))) for version, _ in versions]
    assert numbers == sorted(numbers, reverse=True) and len(numbers) >= 2
    released = {version for version, date in versions if re.fullmatch(r"\d{4}-\d\d-\d\d", date)}
    assert {version for version, date in versions if date == "Unreleased"} | released == {v for v, _ in versions}
    assert salience.__version__ in dict(versions)
    headings = set(re.findall(r"^### (.+)$", read("CHANGELOG.md"), re.M))
    assert headings <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_citation_agrees_with_the_package():
    citation, project = yaml.safe_load(read("CITATION.cff")), tomllib.loads(read("pyproject.toml"))["project"]
    assert citation["cff-version"] == "1.2.0" and citation["authors"] and citation["message"]
    assert citation["license"] == project["license"]
    assert citation["version"] == salience.__version__
    assert citation["type"] == "software" and "salience" in citation["title"]


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags name functions, without calling them."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def pages_in(entry) -> list[str]:
    """The pages of an entry of the navigation."""
    if isinstance(entry, str):
        return [entry]
    return [page for value in (entry.values() if isinstance(entry, dict) else entry) for page in pages_in(value)]


def test_every_page_of_the_documents_is_in_the_navigation_once():
    listed = pages_in(yaml.load(read("mkdocs.yml"), Loader)["nav"])
    docs = ROOT / "docs"
    pages = (*docs.rglob("*.md"), *docs.rglob("*.ipynb"))
    assert sorted(listed) == sorted(page.relative_to(docs).as_posix() for page in pages)


def test_the_reference_has_every_public_name_once():
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")]
    named = re.findall(r"^::: salience\.(\w+)$", "\n".join(pages), re.M)
    assert sorted(named) == sorted(set(salience.__all__) - {"__version__"})


def test_test_modules_have_names_of_their_own():
    """pytest imports them by their names: of two with the same name, one is not run."""
    names = Counter(file.name for file in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
