"""Tokens a word of an encoder: English data sets, and messages of Debian's packages in English and in translation.

    python bench/languages.py [--data-dir DATA] [--model minilm]

By it, `salience train` tells texts in another language than its encoder's.
"""

import argparse
import gettext
import json
from collections import defaultdict
from pathlib import Path

from development import SETS, training_rows
from salience.models.loading import load_tokenizer
from salience.training.prepare import LETTERS

LANGUAGES = ("da", "de", "es", "fi", "fr", "hu", "id", "it", "ja", "ko", "nl", "pl", "pt_BR", "ru", "sv", "tr", "uk",
             "vi", "zh_CN")  # fmt: skip
LEAST, MOST = 40, 20_000  # characters of a message; words that are counted


def tokens_a_word(tokenizer, texts: list[str]) -> float:
    words = [word for text in texts for word in text.split()]
    plain = [word for word in words if sum(map(str.isalpha, word)) >= LETTERS * len(word)][:MOST]
    return sum(map(len, tokenizer(plain, add_special_tokens=False)["input_ids"])) / len(plain)


def messages(language: str) -> dict[str, str]:
    """English messages and their translations."""
    found = {}
    for file in Path("/usr/share/locale", language, "LC_MESSAGES").glob("*.mo"):
        try:
            with open(file, "rb") as opened:
                catalog = gettext.GNUTranslations(opened)._catalog
        except (UnicodeDecodeError, OSError):
            continue
        found |= {key: value for key, value in catalog.items() if isinstance(key, str) and len(key) >= LEAST}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--model", default="minilm")
    chosen = parser.parse_args()
    tokenizer = load_tokenizer(chosen.model)
    texts = defaultdict(list)
    for name in SETS if chosen.data_dir else ():
        if not name.endswith("_joined") and name != "reuters":
            texts[name] = [row["text"] for row in training_rows(name, chosen.data_dir)[:500]]
    for language in LANGUAGES:
        found = messages(language)
        texts[language], texts[f"{language}, in English"] = list(found.values()), list(found)
    for name, own in texts.items():
        print(json.dumps({"texts": name, "tokens_a_word": round(tokens_a_word(tokenizer, own), 2)}))


if __name__ == "__main__":
    main()
