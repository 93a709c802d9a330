#!/bin/sh
# SPDX-License-Identifier: MIT
# The tool notify, which has an effect: a line in ./outbox stands for a mail. It prints the mail's id.
cat >> outbox
echo >> outbox
echo "email_$(($(wc -l < outbox) + 900))"
