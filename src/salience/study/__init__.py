"""Grids of runs over seeds and data sets, and the tables of the papers."""

# Where each table of `salience reproduce` lives: a module with PUBLISHED, `cells`, `run` and `report`.
TABLES = {
    "uaftc-table2": "salience.study.uaftc_table2",
    "uaftc-figures": "salience.study.uaftc_figures",
    "uaftc-synthetic": "salience.study.uaftc_synthetic",
    "attentionmix-figures": "salience.study.attentionmix_figures",
    "dropmix-table5": "salience.study.dropmix_table5",
    "vat": "salience.study.vat",
    "faithful-training": "salience.study.faithful_training",
}
