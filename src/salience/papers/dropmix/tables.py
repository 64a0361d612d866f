"""Kong et al. (EMNLP 2022, DropMix), Tables 3 and 4, and the curves over sparse data (Figure 2).

DropMix, doi:10.18653/v1/2022.emnlp-main.57. As in the paper, DropMix takes the place of dropout: the model's own
dropout is 0.1 in the row "Dropout" and 0 in all others, and mixing methods train on mixtures only. Mixup and
Dropout+Mixup mix at the embeddings with l ~ Beta(0.1, 0.1) on both sides of 1/2 (Eq. 1, section 5.3); Dropout+Mixup
has dropout there too. The windows of DropMix-W and DropMix-G are 4 tokens high; the paper tuned 2 to 32.

Table 3 is of BERT-base, which MiniLM replaces. Table 4 is of RoBERTa and BERT-large, and has six of the methods. Of
the paper's sets, MNLI, QQP, CR and MPQA are left out. The curves are over 5 to 100 % of 2,000 rows; of the paper's
sets they have QNLI, and smaller ones instead of MNLI and QQP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from salience.papers.mixing_tables import MixingTable, Published, mixing_alone

PAPER = "Kong et al., DropMix, EMNLP 2022, doi:10.18653/v1/2022.emnlp-main.57"
HEIGHT = 4  # tokens


def without_dropout(method: str, **options: Any) -> dict[str, Any]:
    return mixing_alone(method, **options) | {"dropout": 0.0}


METHODS = {
    "Bert": {"method": "plain", "dropout": 0.0},
    "Dropout": {"method": "plain", "dropout": 0.1},
    "Mixup": without_dropout("embedmix", alpha=0.1, largest=False),
    "Dropout+Mixup": without_dropout("dropoutmixup"),
    "SSMix": without_dropout("ssmix"),
    "DropMix-U": without_dropout("dropmix-u"),
    "DropMix-C": without_dropout("dropmix-c"),
    "DropMix-W": without_dropout("dropmix-w", height=HEIGHT),
    "DropMix-G": without_dropout("dropmix-g", height=HEIGHT),
    # The paper's section 4.1 and its Eq. 5 keep what its section 1 and Figure 3 drop.
    "DropMix-C, keep": without_dropout("dropmix-c", direction="keep"),
    "DropMix-G, keep": without_dropout("dropmix-g", height=HEIGHT, direction="keep"),
    "DropMix-G, alpha 1": without_dropout("dropmix-g", height=HEIGHT, alpha=1.0),
}
TOLD_3 = ("Bert", "Dropout", "Mixup", "Dropout+Mixup", "SSMix", "DropMix-U", "DropMix-C", "DropMix-W", "DropMix-G")
TABLE_3 = {  # BERT-base, in the order of TOLD_3
    "qnli": (91.49, 91.43, 91.51, 91.45, 91.48, 91.18, 91.70, 90.80, 91.54),
    "sst2": (92.41, 92.61, 92.66, 92.91, 92.39, 92.77, 93.17, 91.72, 93.33),
    "mrpc": (84.00, 84.03, 84.48, 82.89, 83.48, 81.75, 83.48, 81.62, 83.17),
    "rte": (64.55, 64.69, 65.13, 65.27, 65.85, 66.93, 67.94, 65.99, 68.09),
    "trec": (96.64, 96.60, 96.72, 96.72, 97.48, 97.68, 97.76, 97.16, 97.92),
    "sst5": (54.16, 53.86, 53.92, 53.59, 53.77, 53.80, 53.98, 53.14, 54.71),
    "subj": (97.22, 97.10, 97.04, 97.14, 97.22, 97.38, 97.58, 97.46, 97.64),
    "mr": (88.34, 88.13, 88.28, 88.25, 88.62, 88.81, 88.66, 88.47, 88.88),
}
TOLD_4 = ("Bert", "Dropout", "Mixup", "Dropout+Mixup", "DropMix-C", "DropMix-G")
TABLE_4 = {  # by encoder, in the order of TOLD_4
    "roberta-base": {
        "trec": (97.32, 97.36, 97.12, 97.56, 98.00, 98.08),
        "sst5": (57.68, 57.78, 57.61, 57.62, 58.04, 57.91),
        "subj": (97.17, 97.12, 96.90, 96.91, 97.36, 97.36),
        "mr": (90.10, 90.25, 89.58, 90.17, 90.47, 90.44),
    },
    "bert-large-uncased": {
        "trec": (97.52, 97.44, 97.72, 97.80, 97.76, 97.76),
        "sst5": (55.16, 55.38, 54.90, 54.71, 55.22, 55.67),
        "subj": (97.29, 97.28, 97.36, 97.53, 97.72, 97.74),
        "mr": (89.97, 89.87, 89.78, 89.93, 90.42, 90.16),
    },
}
ON_CURVES = ("Bert", "Dropout", "Mixup", "DropMix-C", "DropMix-G")
CURVES = ("qnli", "trec", "subj", "mr")


def published(methods: Sequence[str], columns: Mapping[str, tuple[float, ...]]) -> Published:
    """The columns of a published table, data set by data set, as `MixingTable` takes them."""
    return {name: dict(zip(methods, values, strict=True)) for name, values in columns.items()}


def table_of(methods: Sequence[str], told: Published, **options: Any) -> MixingTable:
    """A comparison of some of the methods."""
    return MixingTable({name: METHODS[name] for name in methods}, told, **options)


BASE = table_of(tuple(METHODS), published(TOLD_3, TABLE_3)).table("dropmix-table3", PAPER)
ENCODERS = {encoder: published(TOLD_4, columns) for encoder, columns in TABLE_4.items()}
ROBERTA = "roberta-base"
OTHERS = table_of(TOLD_4, ENCODERS[ROBERTA], model=ROBERTA, of_encoders=ENCODERS).table("dropmix-table4", PAPER)
SPARSE = table_of(ON_CURVES, {name: {} for name in CURVES}, sizes=(100, 200, 500, 1000, 2000), curves=True).table(
    "dropmix-sparse", PAPER
)
