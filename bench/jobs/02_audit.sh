#!/usr/bin/env bash
# 2. Twenty of 200 labels are wrong: how many does the audit find, and what is left when a person has decided?
. "$(dirname "$0")/common.sh"
prepare planted

salience audit news.csv
shown head -n 4 runs/news-audit/decisions.csv
prepare found
refused salience audit news.csv --apply runs/news-audit/decisions.csv --output corrected.csv
salience audit news.csv --apply decided.csv --output corrected.csv
prepare corrected
