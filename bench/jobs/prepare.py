"""The files of the jobs, drawn from the data sets with a seed, and the work of the person who labels and decides.

    python bench/jobs/prepare.py DATA STEP

It writes to the folder in which it is started. The jobs call it; each function below is a step.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas

DATA = Path(sys.argv[1])
URGENT = ["compromised_card", "lost_or_stolen_card", "lost_or_stolen_phone", "card_payment_not_recognised",
          "cash_withdrawal_not_recognised", "direct_debit_payment_not_recognised"]  # fmt: skip


def rows_of(name: str, part: str = "train") -> pandas.DataFrame:
    """The texts and labels of a data set, in an order drawn with a seed; a repeated text is left out."""
    rows = pandas.read_json(DATA / name / f"{part}.jsonl.gz", lines=True)[["text", "label"]]
    return rows.drop_duplicates("text").sample(frac=1, random_state=0)


def write(name: str, rows: pandas.DataFrame, **form) -> None:
    """A csv file of rows."""
    rows.to_csv(name, index=False, **form)
    print(f"{name}: {len(rows)} rows")


def urgent() -> None:
    """Questions of a bank's customers: urgent where money or a card may be in a thief's hands, one of three."""
    for name, part, count in (("messages.csv", "train", 400), ("later.csv", "test", 600)):
        rows = rows_of("banking77", part)
        stolen = rows.label.isin(URGENT)
        rows = rows.assign(label=stolen.map({True: "urgent", False: "other"}))
        chosen = pandas.concat([rows[stolen][: count // 3], rows[~stolen][: count - count // 3]])
        write(name, chosen.sample(frac=1, random_state=0))


def planted() -> None:
    """News, 20 of 200 with the label of another class, and the list of these."""
    rows = rows_of("ag_news")[:200].reset_index(drop=True)
    others = {label: sorted({*rows.label} - {label}) for label in rows.label}
    wrong = rows.sample(20, random_state=1).index
    planted = rows.loc[wrong].assign(row=wrong + 1)
    rows.loc[wrong, "label"] = [others[label][index % 3] for index, label in enumerate(planted.label)]
    write("news.csv", rows)
    write("planted.csv", planted[["row", "label", "text"]])


def found() -> None:
    """Counts the planted errors among the rows that the audit flags, and decides about each: its label, or keep."""
    right = pandas.read_csv("planted.csv", index_col="row").label
    decisions = pandas.read_csv("runs/news-audit/decisions.csv")
    flagged = {*decisions[decisions.suggested.notna()].row}
    print(f"{len(flagged & {*right.index})} of {len(right)} planted errors are among {len(flagged)} flagged rows")
    decisions["decision"] = decisions.row.map(right).fillna("keep")
    write("decided.csv", decisions)


def corrected() -> None:
    """Counts the wrong labels that are left in the corrected copy."""
    right, rows = pandas.read_csv("planted.csv", index_col="row").label, pandas.read_csv("corrected.csv")
    print(f"{(rows.label[right.index - 1].to_numpy() != right.to_numpy()).sum()} wrong labels are left")


def start() -> None:
    """Questions of 20 intents without labels, the labels in a drawer, their names as descriptions, and test rows."""
    rows, test = rows_of("banking77"), rows_of("banking77", "test")
    intents = sorted({*rows.label})[:20]
    rows = rows[rows.label.isin(intents)][:600]
    write("pool.csv", rows[["text"]])
    write("drawer.csv", rows)
    write("test.csv", test[test.label.isin(intents)][:400])
    Path("intents.yaml").write_text("".join(f"{each}: {each.replace('_', ' ')}\n" for each in intents))


def label() -> None:
    """A person labels 60 texts: those that were suggested, of the descriptions and of the encoder, and random ones."""
    drawer = pandas.read_csv("drawer.csv")
    for name in ("described", "encoder"):
        chosen = drawer[drawer.text.isin(pandas.read_csv(f"{name}.csv").text)]
        write(f"labelled-{name}.csv", chosen)
    write("labelled-random.csv", drawer.sample(60, random_state=0))


def topics() -> None:
    """One or two questions a message; five of ten intents are topics, so that some messages have an empty cell."""
    for name, part, count in (("messages.csv", "train", 200), ("later.csv", "test", 200)):
        rows = rows_of("banking77", part)
        labels = sorted({*rows.label})[:10]
        rows = rows[rows.label.isin(labels)].reset_index(drop=True)
        parts = [rows[index : index + 1 + index % 2] for index in range(0, 2 * count, 2)]
        joined = [(" ".join(each.text), "|".join(sorted({*each.label} & {*labels[:5]}))) for each in parts]
        write(name, pandas.DataFrame(joined, columns=["text", "topics"]))


def questions() -> None:
    """Questions of TREC, to train on and to test on."""
    write("questions.csv", rows_of("trec")[:300])
    write("test.csv", rows_of("trec", "test")[:300])


def odd() -> None:
    """The same questions in the forms in which people have them; some have the signs £ and €."""
    rows = rows_of("banking77")
    rows = rows[rows.label.isin([*URGENT[:3], "exchange_rate", "cash_withdrawal_charge", "extra_charge_on_statement"])]
    signs = rows.text.str.contains("[£€]")
    rows = pandas.concat([rows[signs][:20], rows[~signs][:140]]).sample(frac=1, random_state=0)
    rows[:120].to_excel("tickets.xlsx", index=False)
    rows[120:].to_excel("new.xlsx", index=False)
    nested = pandas.DataFrame({
        "id": range(120),
        "content": [{"text": text, "language": "en"} for text in rows.text[:120]],
        "about": [{"label": label} for label in rows.label[:120]],
    })  # fmt: skip
    nested.to_json("nested.jsonl", orient="records", lines=True)
    write("semicolons.csv", rows[:120], sep=";", encoding="utf-8-sig")
    write("old.csv", rows[:120], sep=";", encoding="cp1252")
    write("new-old.csv", rows[120:].drop(columns="label").reset_index(names="number"), sep=";", encoding="cp1252")
    write("january.csv", rows[:60].assign(agent="Ann"))
    write("february.csv", rows[60:120].assign(minutes=5))


def many() -> None:
    """2,000 texts to predict."""
    write("many.csv", rows_of("ag_news")[["text"]][:2000])


if __name__ == "__main__":
    globals()[sys.argv[2]]()
