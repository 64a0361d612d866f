"""Words that give the label away: nearly all texts with the word have one label, and many texts of the label have it.

The measure is gamma = (f+ - f-) / (f+ + f-) of Sun and Lu (2020), doi 10.18653/v1/2020.acl-main.312, Section 5.1, of
one class against all others. Here f counts texts, not occurrences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from salience.audit.association import LEAST, association
from salience.data.texts import Texts
from salience.training.baselines import joined

GAMMA = 0.9  # smallest gamma: 19 of 20 texts with the word have the label
SHARE = 0.1  # smallest share of the texts of the label that have the word
TOKENS = r"(?u)\w+|[^\w\s]"  # as of the TF-IDF baseline: words, and signs by themselves


class Giveaway(NamedTuple):
    """A word that gives the label away.

    Attributes:
        word: in lower case.
        label: the number of the class.
        gamma: the smaller one of gamma on the texts as they are, and on as many texts of the class as of the others.
        log_odds: ln of the odds of the word in texts of the class, minus that in other texts; 1/2 is added to counts.
        share: of the texts of the class that have the word.
        places: of the texts of the class that have the word, in order.
    """

    word: str
    label: int
    gamma: float
    log_odds: float
    share: float
    places: list[int]


def giveaways(texts: Texts, classes: int) -> list[Giveaway]:
    """The words with a gamma of at least `GAMMA` that at least `SHARE` of the texts of a class, and 6 texts, have.

    Words with the largest share come first. The second gamma, on classes of one size, keeps a class that has nearly
    all texts from owning nearly all words.

    Args:
        texts: N labelled texts, or pairs. Where a text can have several labels, each is a class against all texts
            without it.
        classes: C, the number of classes.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    labels = texts.known_labels
    having = labels == 1 if labels.ndim == 2 else labels[:, None] == np.arange(classes)  # (N, C)
    words = CountVectorizer(binary=True, token_pattern=TOKENS)
    try:
        occurrences = words.fit_transform(joined(texts))
    except ValueError:  # no text has a word
        return []
    names = words.get_feature_names_out()
    columns = occurrences.tocsc()
    counted, total = columns.T @ having.astype(np.int64), np.asarray(columns.sum(0)).ravel()  # (V, C) and (V,)
    rows = having.sum(0)
    found = []
    for label in range(classes):
        own, others = counted[:, label], total - counted[:, label]
        sizes = np.array([len(texts) - rows[label], rows[label]])
        both = np.stack([others, own], 1)
        gamma = np.minimum(association(both), association(both / np.maximum(sizes, 1) * len(texts)))
        odds = np.log((both + 0.5) / (sizes - both + 0.5))
        for word in np.flatnonzero((gamma >= GAMMA) & (own > LEAST) & (own >= SHARE * rows[label])):
            with_word = columns.indices[columns.indptr[word] : columns.indptr[word + 1]]
            found.append(
                Giveaway(
                    str(names[word]), label, float(gamma[word]), float(odds[word, 1] - odds[word, 0]),
                    float(own[word] / rows[label]), sorted(with_word[having[with_word, label]].tolist()),
                )
            )  # fmt: skip
    return sorted(found, key=lambda each: (-each.share, -each.gamma, each.word))
