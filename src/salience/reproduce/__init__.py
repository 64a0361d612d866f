"""Grids of runs over seeds and data sets, and the tables of the papers."""

# Where each table of `salience reproduce` lives: a module with PUBLISHED, `cells`, `run` and `report`.
TABLES = {
    "uaftc-table2": "salience.reproduce.uaftc.table2",
    "uaftc-figures": "salience.reproduce.uaftc.figures",
    "uaftc-synthetic": "salience.reproduce.uaftc.synthetic",
    "attentionmix-figures": "salience.reproduce.attentionmix.figures",
    "dropmix-table5": "salience.reproduce.dropmix.table5",
    "vat": "salience.reproduce.vat.tables",
    "faithful-training": "salience.reproduce.faithful_training",
}
