#!/usr/bin/env bash
# 4. A message can have several topics, or none: then its cell is empty.
. "$(dirname "$0")/common.sh"
prepare topics
shown head -n 5 messages.csv

refused salience train messages.csv --output runs/topics
refused salience train messages.csv --label topics --label-separator "|" --output runs/topics
salience train messages.csv --label topics --label-separator "|" --empty-label none --trained-layers 0 --output runs/topics
salience test runs/topics later.csv
salience thresholds runs/topics --label age_limit --recall 0.9
salience predict runs/topics later.csv --output predicted.csv
shown head -n 5 predicted.csv
salience explain runs/topics --text "My card has not come, and I want Apple Pay"
