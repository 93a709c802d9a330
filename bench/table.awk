# SPDX-License-Identifier: MIT
# Lines "NAME KEY NUMBER KEY NUMBER …" for a table that another script prints, with what must be reached. A name that comes several
# times (rounds of what is noisy) counts with its median.
{
	for (i = 2; i + 1 <= NF; i += 2)
		list[$1, $i] = list[$1, $i] " " $(i + 1)
}

function median(text, parts, n, i, j, t) {
	n = split(text, parts, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && parts[j - 1] + 0 > parts[j] + 0; j--) {
			t = parts[j]; parts[j] = parts[j - 1]; parts[j - 1] = t
		}
	return parts[int((n + 1) / 2)]
}

function has(name, key) { return (name, key) in list }
function get(name, key) { return median(list[name, key]) + 0 }

function number(value) {
	return value >= 100 || value == int(value) ? sprintf("%.0f", value) : sprintf("%.2f", value)
}

function line(text, must, got, ratio, verdict) {
	printf "%-47s %15s %12s %14s  %s\n", text, must, got, ratio, verdict
}

# What is missed is written to the file `misses`, if there is one, by the name of its measure.
function verdict(met, name) {
	if (!met && misses != "")
		print name >misses
	return met ? "met" : "MISSED"
}

function head(text) {
	printf "\n"
	line(text, "must", "got", "ratio", "")
}

# At most `must` of `unit`, the measure times `factor`.
function most(text, name, key, factor, unit, must, value) {
	if (!has(name, key)) {
		line(text, "<= " must " " unit, "-", "", "not measured")
		return
	}
	value = get(name, key) * factor
	line(text, "<= " must " " unit, number(value) " " unit, must ? sprintf("%.2f of must", value / must) : "",
		verdict(value <= must, name))
}

# At least `must` times as good as a peer; rates grow, times shrink.
function against(text, name, peer, key, factor, unit, must, rate, value) {
	if (!has(name, key) || !has(peer, key)) {
		line(text, ">= " must " of raw", "-", "", "not measured")
		return
	}
	value = rate ? get(name, key) / get(peer, key) : get(peer, key) / get(name, key)
	line(text, ">= " must " of raw", number(get(name, key) * factor) " " unit, sprintf("%.3f of raw", value),
		verdict(value >= must, name))
}

# A figure beside; with a name of bobbin's measure, how many times that it is.
function beside(text, name, key, factor, unit, ours, ours_key, ratio) {
	if (!has(name, key))
		return
	ratio = ours && has(ours, ours_key) ? number(get(name, key) / get(ours, ours_key)) " x bobbin" : ""
	line("  " text, "", number(get(name, key) * factor) " " unit, ratio, "")
}
