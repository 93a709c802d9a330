#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bobbin occurrence`: one run per routine and local date, on every night and after downtime (case X31)."""
import os
import subprocess

from harness import BOBBIN, Scratch, done, equal, ok

BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"  # both changes, without tzdata


def stamp(minutes, second=0):
    """Minutes from midnight UTC of 2026-03-28 or 2026-10-24, as text."""
    month, day, minutes = ("03", 28, minutes) if minutes >= 0 else ("10", 24, -minutes)
    return "2026-%s-%02dT%02d:%02d:%02dZ" % (month, day + minutes // 1440, minutes % 1440 // 60, minutes % 60, second)


with Scratch() as scratch:
    def ask(daily, now, *more, zone=BERLIN):
        answer = scratch.run("occurrence", "digest", "--daily", daily, "--zone", zone, "--now", now, "--json", *more)
        return answer.code, answer.rows[0] if answer.rows else {}

    def night(daily, sign, *more):
        """The keys that a cron job gets that asks every half hour for two days around the change."""
        keys = []
        for minutes in range(60, 2800, 30):
            code, row = ask(daily, stamp(sign * minutes), *more)
            if code == 0:
                keys.append(row["key"])
        return sorted(set(keys))

    spring = ["digest:2026-03-28", "digest:2026-03-29"]
    autumn = ["digest:2026-10-24", "digest:2026-10-25"]
    # The first day's 01:30 in Berlin was half an hour before the first question.
    for daily in ("01:30", "02:30"):
        equal(night(daily, 1, "--grace", "40"), spring, "x31_%s_runs_once_each_day_when_the_clocks_go_forward" % daily)
        equal(night(daily, -1, "--grace", "100"), autumn, "x31_%s_runs_once_each_day_when_the_clocks_go_back" % daily)
    code, row = ask("02:30", "2026-03-29T01:00:00Z")
    equal((code, row["key"], row["at"]), (0, "digest:2026-03-29", "2026-03-29T01:00:00Z"),
          "x31_a_time_left_out_is_due_when_the_clocks_change")
    code, row = ask("02:30", "2026-03-29T00:59:59Z")
    equal((code, row["next"]), (1, "2026-03-29T01:00:00Z"), "x31_and_not_a_second_before")
    code, row = ask("02:30", "2026-10-25T01:30:00Z", "--missed", "once")
    equal((row["key"], row["at"], row["next"]), ("digest:2026-10-25", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
          "x31_a_time_shown_twice_counts_the_first_time_only")

    # A restart one second before the minute: the old key, already done; then the new one.
    equal(ask("01:30", "2026-07-01T23:29:59Z")[0], 1, "x31_a_second_before_nothing_is_due")
    equal(ask("01:30", "2026-07-01T23:29:59Z", "--missed", "once")[1]["key"], "digest:2026-07-01",
          "x31_a_second_before_it_is_still_the_day_before")
    equal(ask("01:30", "2026-07-01T23:30:00Z")[1]["key"], "digest:2026-07-02", "x31_on_the_second_it_is_due")

    # Six hours of downtime over it.
    equal(ask("02:30", "2026-07-02T05:00:00Z")[0], 1, "x31_missed_by_hours_it_is_skipped")
    code, row = ask("02:30", "2026-07-02T05:00:00Z", "--missed", "once")
    equal((code, row["key"], row["missed"]), (0, "digest:2026-07-02", True), "x31_or_made_up_for_once")

    # Two instances that start together, and one that is started again: one effect.
    script = scratch.write("send.sh", b"#!/bin/sh\nsleep 0.1\necho sent >> effects\n")
    os.chmod(script, 0o700)
    line = "k=$(%s occurrence digest --daily 01:30 --zone %s --now %s --missed once) && exec %s --store %s once $k -- %s"

    def start(now):
        return subprocess.Popen(["sh", "-c", line % (os.path.abspath(BOBBIN), BERLIN, now, os.path.abspath(BOBBIN),
                                                     scratch.store, script)],
                                cwd=scratch.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    codes = [job.wait() for job in [start("2026-10-24T23:30:0%dZ" % i) for i in range(4)]]
    codes += [start("2026-10-25T00:30:00Z").wait(), start("2026-10-25T01:00:00Z").wait()]
    equal((codes, len(open(os.path.join(scratch.path, "effects")).readlines())), ([0] * 6, 1),
          "x31_instances_at_once_and_again_an_hour_later_act_once")

    plain = scratch.run("occurrence", "digest", "--daily", "01:30", "--zone", BERLIN, "--now", "2026-07-01T23:31:00Z")
    equal(plain.out.decode().strip(), "digest:2026-07-02", "the key alone is printed")
    for words in (["--daily", "1:30"], ["--daily", "25:00"], ["--daily", "01:30x"], ["--missed", "twice"], ["--now", "today"]):
        given = ["--daily", "01:30"] if "--daily" not in words else []
        equal(scratch.run("occurrence", "digest", "--zone", "UTC", *given, *words).code, 2, "refused: " + " ".join(words))
    equal(scratch.run("occurrence", "digest", "--daily", "01:30", "--zone", "../../etc/passwd").code, 3,
          "a zone's name does not lead out of its folder")
    equal(scratch.run("occurrence", "two words", "--daily", "01:30", "--zone", "UTC").code, 2, "a routine's name has no blanks")
done()
