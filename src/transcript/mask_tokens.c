/* SPDX-License-Identifier: MIT */
/*
 * Secrets that say themselves what they are: tokens with the prefix of their issuer, tokens of three parts,
 * and PEM. Published keys (pk_live_, certificates, PUBLIC KEY) are none.
 */
#include "transcript/mask_scan.h"

enum {
	RULE_MIXED = 1, /* the part after the prefix has digits and letters, eight different ones at least */
	RULE_KEEP = 2,	/* the prefix is no part of the secret */
};

struct rule {
	const char *prefix;
	enum mask_set set;
	unsigned min, max; /* characters after the prefix; with max 0 the run may have any length */
	unsigned flags;
	const char *kind;
};

/* Sorted by first character: a place of a text is compared with a few of them. */
static const struct rule RULES[] = {
	{"ABIA", SET_UPPER, 16, 16, 0, "aws access key"},
	{"ACCA", SET_UPPER, 16, 16, 0, "aws access key"},
	{"AGE-SECRET-KEY-1", SET_UPPER, 50, 0, RULE_MIXED, "age secret key"},
	{"AIza", SET_TOKEN, 35, 35, RULE_MIXED, "google api key"},
	{"AKIA", SET_UPPER, 16, 16, 0, "aws access key"},
	{"ASIA", SET_UPPER, 16, 16, 0, "aws access key"},
	{"ATATT3xFf", SET_TOKEN, 60, 0, RULE_MIXED, "atlassian token"},
	{"GOCSPX-", SET_TOKEN, 20, 0, RULE_MIXED, "google client secret"},
	{"PMAK-", SET_TOKEN, 50, 0, RULE_MIXED, "postman api key"},
	{"SK", SET_HEX, 32, 32, RULE_MIXED, "twilio api key"},
	{"cio", SET_ALNUM, 32, 32, RULE_MIXED, "crates.io token"},
	{"dapi", SET_HEX, 32, 32, RULE_MIXED, "databricks token"},
	{"dckr_pat_", SET_TOKEN, 20, 0, RULE_MIXED, "docker token"},
	{"doo_v1_", SET_HEX, 64, 64, RULE_MIXED, "digitalocean token"},
	{"dop_v1_", SET_HEX, 64, 64, RULE_MIXED, "digitalocean token"},
	{"dp.pt.", SET_ALNUM, 40, 0, RULE_MIXED, "doppler token"},
	{"figd_", SET_TOKEN, 32, 0, RULE_MIXED, "figma token"},
	{"gho_", SET_ALNUM, 36, 0, RULE_MIXED, "github token"},
	{"ghp_", SET_ALNUM, 36, 0, RULE_MIXED, "github token"},
	{"ghr_", SET_ALNUM, 36, 0, RULE_MIXED, "github token"},
	{"ghs_", SET_ALNUM, 36, 0, RULE_MIXED, "github token"},
	{"ghu_", SET_ALNUM, 36, 0, RULE_MIXED, "github token"},
	{"github_pat_", SET_WORD, 22, 0, RULE_MIXED, "github token"},
	{"glcbt-", SET_TOKEN, 20, 0, RULE_MIXED, "gitlab token"},
	{"gldt-", SET_TOKEN, 20, 0, RULE_MIXED, "gitlab token"},
	{"glpat-", SET_TOKEN, 20, 0, RULE_MIXED, "gitlab token"},
	{"glptt-", SET_TOKEN, 20, 0, RULE_MIXED, "gitlab token"},
	{"glrt-", SET_TOKEN, 20, 0, RULE_MIXED, "gitlab token"},
	{"glsa_", SET_WORD, 32, 0, RULE_MIXED, "grafana token"},
	{"glsoat-", SET_TOKEN, 20, 0, RULE_MIXED, "gitlab token"},
	{"gsk_", SET_ALNUM, 40, 0, RULE_MIXED, "groq api key"},
	{"hf_", SET_ALNUM, 30, 0, RULE_MIXED, "hugging face token"},
	{"https://hooks.slack.com/services/", SET_BASE64, 30, 0, RULE_KEEP, "slack webhook"},
	{"hvb.", SET_TOKEN, 80, 0, RULE_MIXED, "vault token"},
	{"hvs.", SET_TOKEN, 24, 0, RULE_MIXED, "vault token"},
	{"key-", SET_HEX, 32, 32, RULE_MIXED, "mailgun api key"},
	{"lin_api_", SET_ALNUM, 32, 0, RULE_MIXED, "linear api key"},
	{"nfp_", SET_ALNUM, 36, 0, RULE_MIXED, "netlify token"},
	{"npm_", SET_ALNUM, 36, 36, RULE_MIXED, "npm token"},
	{"ntn_", SET_ALNUM, 40, 0, RULE_MIXED, "notion token"},
	{"pplx-", SET_ALNUM, 40, 0, RULE_MIXED, "perplexity api key"},
	{"pypi-AgE", SET_TOKEN, 16, 0, RULE_MIXED, "pypi token"},
	{"r8_", SET_ALNUM, 37, 0, RULE_MIXED, "replicate token"},
	{"rk_live_", SET_ALNUM, 16, 0, RULE_MIXED, "stripe key"},
	{"rk_test_", SET_ALNUM, 16, 0, RULE_MIXED, "stripe key"},
	{"rubygems_", SET_HEX, 48, 48, RULE_MIXED, "rubygems token"},
	{"shpat_", SET_HEX, 32, 32, RULE_MIXED, "shopify token"},
	{"shppa_", SET_HEX, 32, 32, RULE_MIXED, "shopify token"},
	{"sk-ant-", SET_TOKEN, 20, 0, RULE_MIXED, "anthropic api key"},
	{"sk-admin-", SET_TOKEN, 20, 0, RULE_MIXED, "openai api key"},
	{"sk-or-v1-", SET_HEX, 32, 0, RULE_MIXED, "openrouter api key"},
	{"sk-proj-", SET_TOKEN, 20, 0, RULE_MIXED, "openai api key"},
	{"sk-svcacct-", SET_TOKEN, 20, 0, RULE_MIXED, "openai api key"},
	{"sk-", SET_ALNUM, 20, 0, RULE_MIXED, "openai api key"},
	{"sk_live_", SET_ALNUM, 16, 0, RULE_MIXED, "stripe key"},
	{"sk_test_", SET_ALNUM, 16, 0, RULE_MIXED, "stripe key"},
	{"sntrys_", SET_TOKEN, 32, 0, RULE_MIXED, "sentry token"},
	{"sq0atp-", SET_TOKEN, 22, 0, RULE_MIXED, "square token"},
	{"sq0csp-", SET_TOKEN, 40, 0, RULE_MIXED, "square token"},
	{"tvly-", SET_TOKEN, 28, 0, RULE_MIXED, "tavily api key"},
	{"whsec_", SET_BASE64, 24, 0, RULE_MIXED, "stripe key"},
	{"xai-", SET_ALNUM, 60, 0, RULE_MIXED, "xai api key"},
	{"xapp-", SET_TOKEN, 20, 0, RULE_MIXED, "slack token"},
	{"xoxa-", SET_TOKEN, 10, 0, RULE_MIXED, "slack token"},
	{"xoxb-", SET_TOKEN, 10, 0, RULE_MIXED, "slack token"},
	{"xoxe-", SET_TOKEN, 10, 0, RULE_MIXED, "slack token"},
	{"xoxo-", SET_TOKEN, 10, 0, RULE_MIXED, "slack token"},
	{"xoxp-", SET_TOKEN, 10, 0, RULE_MIXED, "slack token"},
	{"xoxr-", SET_TOKEN, 10, 0, RULE_MIXED, "slack token"},
	{"xoxs-", SET_TOKEN, 10, 0, RULE_MIXED, "slack token"},
	{"ya29.", SET_TOKEN, 20, 0, RULE_MIXED, "google access token"},
};
#define RULE_TOTAL (sizeof(RULES) / sizeof(RULES[0]))

static bool is_mixed(const char *part, size_t len)
{
	struct mask_look look;

	mask_look(part, len, &look);
	return look.digits && look.lower + look.upper && look.distinct >= 8 && !mask_is_stand_in(part, len);
}

static bool match_rule(struct mask_scan *scan, size_t at, const struct rule *rule, struct mask_span *ret_span)
{
	size_t prefix = strlen(rule->prefix);

	if (!mask_has(scan, at, rule->prefix, prefix))
		return false;
	size_t end = mask_run(scan, rule->set, at + prefix), len = end - at - prefix;
	if (len < rule->min || (rule->max && len > rule->max))
		return false;
	/* A run of few characters ends a token only where nothing of a larger set goes on. */
	if (rule->max && mask_run(scan, SET_TOKEN, at + prefix) > end)
		return false;
	if ((rule->flags & RULE_MIXED) && !is_mixed(scan->text + at + prefix, len))
		return false;
	*ret_span = (struct mask_span){rule->flags & RULE_KEEP ? at + prefix : at, end, rule->kind};
	return true;
}

static bool match_rules(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	size_t low = 0, high = RULE_TOTAL;
	char first = scan->text[at];

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (RULES[middle].prefix[0] < first)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < RULE_TOTAL && RULES[low].prefix[0] == first; low++)
		if (match_rule(scan, at, &RULES[low], ret_span))
			return true;
	return false;
}

/* ---- Tokens of parts between dots -------------------------------------------------------------------------
 */

/* The end of a run that begins at `at` and has `min` to `max` characters, or 0. */
static size_t part(struct mask_scan *scan, size_t at, size_t min, size_t max)
{
	size_t end = mask_run(scan, SET_TOKEN, at);

	return end - at >= min && end - at <= max ? end : 0;
}

static bool is_dot(const struct mask_scan *scan, size_t at)
{
	return at < scan->len && scan->text[at] == '.';
}

/* header.payload.signature, both first ones JSON objects in base64; or the five parts of an encrypted one. */
static bool match_jwt(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	size_t ends[5], count = 0, from = at;

	/* Only at the start of a run: else each place of a long one would walk over all that follows. */
	if (!mask_has(scan, at, "eyJ", 3) || (at > scan->floor && scan->text[at - 1] == '-'))
		return false;
	while (count < 5) {
		size_t end = mask_run(scan, SET_TOKEN, from);
		if (end == from && count != 1) /* the key of an encrypted one may be empty */
			break;
		ends[count++] = end;
		if (!is_dot(scan, end))
			break;
		from = end + 1;
	}
	if (count == 0 || ends[0] - at < 12)
		return false;
	bool is_signed = count >= 3 && mask_has(scan, ends[0] + 1, "eyJ", 3) && ends[1] - ends[0] > 8 &&
			 ends[2] - ends[1] > 16;
	if (!is_signed && count < 5)
		return false;
	*ret_span = (struct mask_span){at, is_signed ? ends[2] : ends[4], "json web token"};
	return true;
}

static bool match_sendgrid(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	size_t end = mask_has(scan, at, "SG.", 3) ? part(scan, at + 3, 16, 32) : 0;

	if (!end || !is_dot(scan, end))
		return false;
	size_t last = part(scan, end + 1, 32, 64);
	if (!last || !is_mixed(scan->text + at + 3, last - at - 3))
		return false;
	*ret_span = (struct mask_span){at, last, "sendgrid api key"};
	return true;
}

static bool match_discord(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	size_t end = strchr("MNO", scan->text[at]) ? part(scan, at, 23, 28) : 0;
	size_t middle = end && is_dot(scan, end) ? part(scan, end + 1, 6, 6) : 0;
	size_t last = middle && is_dot(scan, middle) ? part(scan, middle + 1, 27, 40) : 0;
	struct mask_look look;

	if (!last)
		return false;
	mask_look(scan->text + at, last - at, &look);
	if (!look.digits || !look.upper || !look.lower)
		return false;
	*ret_span = (struct mask_span){at, last, "discord token"};
	return true;
}

bool mask_match_token(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	switch (scan->text[at]) {
	case 'e':
		return match_jwt(scan, at, ret_span);
	case 'M':
	case 'N':
	case 'O':
		return match_discord(scan, at, ret_span);
	case 'S':
		if (match_sendgrid(scan, at, ret_span))
			return true;
		break;
	default:
		break;
	}
	return match_rules(scan, at, ret_span);
}

/* ---- PEM --------------------------------------------------------------------------------------------------
 */

#define BEGIN "-----BEGIN "
#define END "-----END "
#define DASHES "-----"
#define LABEL_BYTES_MAX 48
#define LINE_BYTES_MIN 16 /* of a line of base64 that is not the last */
#define BODY_BYTES_MIN 32
#define GAP_BYTES_MAX 64 /* blanks, quotes and escapes between two lines */
#define FIELD_BYTES_MAX 200

/* After "-----BEGIN " or "-----END ": where the dashes behind the label end, or 0. */
static size_t label_end(const struct mask_scan *scan, size_t at, bool *ret_private)
{
	size_t i = at;

	while (i < scan->len && i < at + LABEL_BYTES_MAX &&
		((scan->text[i] >= 'A' && scan->text[i] <= 'Z') || scan->text[i] == ' ' ||
			(scan->text[i] >= '0' && scan->text[i] <= '9')))
		i++;
	*ret_private = i > at && memmem(scan->text + at, i - at, "PRIVATE KEY", 11) != NULL;
	return mask_has(scan, i, DASHES, sizeof(DASHES) - 1) ? i + sizeof(DASHES) - 1 : 0;
}

/* Over what stands between the lines of a block: blanks, line breaks as themselves or escaped, quotes, marks
 * of quoting. */
static size_t skip_gap(const struct mask_scan *scan, size_t at)
{
	size_t i = at;

	while (i < scan->len && i < at + GAP_BYTES_MAX) {
		char c = scan->text[i];
		if (c == '\\' && i + 1 < scan->len && strchr("nrt\\\"'", scan->text[i + 1]) &&
			scan->text[i + 1])
			i += scan->text[i + 1] == '\\' ? 1 : 2;
		else if (c && strchr(" \t\r\n\"',>|#*", c))
			i++;
		else
			break;
	}
	return i;
}

/* Over "Proc-Type: 4,ENCRYPTED" and its like, or `at`. */
static size_t skip_field(const struct mask_scan *scan, size_t at)
{
	static const char *const FIELDS[] = {"Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:"};

	for (size_t i = 0; i < sizeof(FIELDS) / sizeof(FIELDS[0]); i++) {
		size_t end = at + strlen(FIELDS[i]);
		if (!mask_has(scan, at, FIELDS[i], strlen(FIELDS[i])))
			continue;
		while (end < scan->len && end < at + FIELD_BYTES_MAX && scan->text[end] != '\n' &&
			scan->text[end] != '\\')
			end++;
		return end;
	}
	return at;
}

static bool ends_line(const struct mask_scan *scan, size_t at)
{
	return at >= scan->len || scan->text[at] == '\n' || scan->text[at] == '\r' || scan->text[at] == '\\';
}

bool mask_match_pem(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	bool is_private;
	size_t body = 0, end = mask_has(scan, at, BEGIN, sizeof(BEGIN) - 1)
				       ? label_end(scan, at + sizeof(BEGIN) - 1, &is_private)
				       : 0;

	if (!end || !is_private)
		return false;
	for (;;) {
		size_t line = skip_gap(scan, end), next = skip_field(scan, line);
		if (next == line)
			next = mask_run(scan, SET_BASE64, line);
		if (mask_has(scan, line, END, sizeof(END) - 1)) {
			size_t last = label_end(scan, line + sizeof(END) - 1, &is_private);
			end = last ? last : end;
			break;
		}
		bool is_last = mask_has(scan, skip_gap(scan, next), END, sizeof(END) - 1) ||
			       (body >= BODY_BYTES_MIN && (next - line) % 4 == 0 && ends_line(scan, next));
		if (next == line || (next - line < LINE_BYTES_MIN && !is_last && scan->text[line] != '='))
			break;
		body += next - line;
		end = next;
	}
	if (body < BODY_BYTES_MIN)
		return false;
	*ret_span = (struct mask_span){at, end, "private key"};
	return true;
}
