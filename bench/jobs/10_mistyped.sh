#!/usr/bin/env bash
# 10. What a hurried person types: each is told in a line how it is meant, and nothing is written.
. "$(dirname "$0")/common.sh"
cp "$jobs"/../../examples/banking_t*.csv .

salience train banking_train.csv --trained-layers 0 --estimate none --output runs/banking-head
refused salience predict banking_test.csv runs/banking-head
refused salience predict runs/bankng-head banking_test.csv
refused salience predict runs banking_test.csv
refused salience predict runs/banking-head banking_tst.csv
refused salience predict runs/banking-head banking_test.csv --output labels.doc
refused salience predict runs/banking-head banking_test.csv --text txt
refused salience predict runs/banking-head
refused salience train banking_train.csv --lr 1e-4
refused salience train --data banking_train.csv
refused salience train banking_train.csv -o runs/other
refused salience train banking_train.csv --output runs/banking-head
refused salience train banking_train.csv --method ssmx --output runs/other
refused salience train banking_train.csv --model bert-base-uncasd --output runs/other
refused salience train banking_train.csv --label categry --output runs/other
refused salience train banking_train.csv --set learning_rat=1 --output runs/other
refused salience train banking_train.csv --effort fast --output runs/other
refused salience train banking_train.csv --test banking_train.csv --estimate fold:5 --output runs/other
refused salience trian banking_train.csv
salience version
refused salience
refused salience report runs
refused salience suggest banking_test.csv runs/banking-head
refused salience thresholds runs/banking-head
refused salience test runs/banking-head banking_test.csv --label text
shown ls -A runs
