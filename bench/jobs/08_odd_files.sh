#!/usr/bin/env bash
# 8. The files that people have: Excel, objects in JSON lines, semicolons with a byte order mark, cp1252, several files.
. "$(dirname "$0")/common.sh"
prepare odd

salience train tickets.xlsx --trained-layers 0 --output runs/excel
salience predict runs/excel new.xlsx --output labels.xlsx

refused salience train nested.jsonl --trained-layers 0 --output runs/nested
salience train nested.jsonl --text content.text --label about.label --trained-layers 0 --output runs/nested

shown head -n 2 semicolons.csv
salience train semicolons.csv --trained-layers 0 --output runs/semicolons
salience predict runs/semicolons semicolons.csv --output predicted.csv
shown head -n 2 predicted.csv

refused salience train old.csv --trained-layers 0 --output runs/old
salience train old.csv --encoding cp1252 --trained-layers 0 --output runs/old
salience predict runs/old new-old.csv --encoding cp1252 --output predicted-old.csv
shown file new-old.csv predicted-old.csv

salience train january.csv february.csv --trained-layers 0 --output runs/months
refused salience train january.csv old.csv --trained-layers 0 --output runs/mixed
