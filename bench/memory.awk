# SPDX-License-Identifier: MIT
# The table of bench/memory.sh, with the functions of table.awk.

# So many percentage points more than a peer's.
function above(text, name, peer, key, points, value) {
	if (!has(name, key))
		return
	value = get(name, key) - get(peer, key)
	line(text, ">= plain + " points, sprintf("%.1f %%", get(name, key)), sprintf("%+.1f", value), value >= points ? "met" : "MISSED")
}

function percent(text, name, key) {
	if (has(name, key))
		line("  " text, "", sprintf("%.1f %%", get(name, key)), "", "")
}

END {
	if (has("locomo", "questions")) {
		head("LoCoMo, " get("locomo", "questions") " questions: a turn that has the answer is among")
		above("the first 5", "locomo-bobbin", "locomo-plain", "first5", 5)
		percent("plain FTS5, porter, bm25", "locomo-plain", "first5")
		percent("without a threshold", "locomo-open", "first5")
		percent("FTS5 with the turns around it at 0.4", "locomo-around", "first5")
		above("the first 10", "locomo-bobbin", "locomo-plain", "first10", 5)
		percent("plain FTS5, porter, bm25", "locomo-plain", "first10")
		percent("without a threshold", "locomo-open", "first10")
		percent("FTS5 with the turns around it at 0.4", "locomo-around", "first10")
		beside("of 200 unrelated questions answered, median", "locomo-unrelated", "answered", 1, "")
	}
	head("100,000 facts of one owner")
	most("search, p50", "search", "p50_us", 1e-3, "ms", 3)
	beside("p99", "search", "p99_us", 1e-3, "ms")
	percent("the fact that was asked for is among the 5", "search", "found_percent")
	most("unrelated questions answered, of 200", "unrelated", "answered", 1, "", 0)
	beside("bobbin memory search, the whole process", "search-process", "p50_us", 1e-3, "ms")
	beside("  of that, a process that does nothing", "process-floor", "p50_us", 1e-3, "ms")
	beside("add, durable", "add", "p50_us", 1e-3, "ms")
	most("plan again, no new message", "plan-again", "p50_us", 1, "us", 10)
	beside("plan after a new message", "plan-first", "p50_us", 1, "us", "plan-without", "p50_us")
	beside("plan without facts", "plan-without", "p50_us", 1, "us")
}
