#!/usr/bin/env bash
# 1. Urgent questions are to be found so that 95 % of what is called urgent is urgent.
. "$(dirname "$0")/common.sh"
prepare urgent

salience train messages.csv --trained-layers 0 --output runs/messages
salience thresholds runs/messages --label urgent --precision 0.95
salience thresholds runs/messages --label urgent --cost fp=1,fn=20
salience predict runs/messages later.csv --threshold urgent=0.25 --output sensitive.csv
refused salience thresholds runs/messages --label urgent --precision 0.95 --save
salience thresholds runs/messages --label urgent --precision 0.9 --save
salience test runs/messages later.csv
salience predict runs/messages later.csv --output decided.csv
shown head -n 4 decided.csv

refused salience thresholds runs/messages --label urgnt --precision 0.95
refused salience thresholds runs/messages --label urgent --precision 95
