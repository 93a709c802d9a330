/* SPDX-License-Identifier: MIT */
/*
 * Secrets that are known by what stands before them: the value of something called a password, a secret or a
 * token, an authorization or cookie header, the password of a URL. Here it is not the shape that tells, so
 * the value must look drawn:
 *
 *	DB_PASSWORD=hunter2hunter2        masked        password = config.password       stays: a name
 *	"api_key": "9f3c…"                masked        token: <YOUR_TOKEN>              stays: a hint
 */
#include "transcript/mask_scan.h"

#include <strings.h>

#define NAME_BYTES_MAX 64
#define GAP_BYTES_MAX 12 /* blanks, quotes and backslashes between name and value */
#define LINE_BACK_MAX 200
#define LOOK_BYTES 256
#define PASSWORD_BYTES_MIN 6

/* ---- Names ------------------------------------------------------------------------------------------------
 */

static bool is_name_char(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c == '-' ||
	       c == '.' || c == '$';
}

/* Whether the name ends with a word, - and _ in it not counted, case neither. */
static bool ends_with_word(struct slice name, const char *word)
{
	size_t i = name.len, j = strlen(word);

	while (j > 0) {
		if (i == 0)
			return false;
		unsigned char c = (unsigned char)name.data[--i];
		if (c == '_' || c == '-')
			continue;
		if ((c | 0x20) != (unsigned char)word[--j])
			return false;
	}
	return true;
}

static bool ends_with_any(struct slice name, const char *const *words)
{
	for (; *words; words++)
		if (ends_with_word(name, *words))
			return true;
	return false;
}

static bool name_is(struct slice name, const char *text)
{
	return name.len == strlen(text) && strncasecmp(name.data, text, name.len) == 0;
}

/* Nearly every name ends in none of the ways that those below end in. */
static bool may_be_secret(struct slice name)
{
	static const char ENDS[][4] = {
		"ord", "swd", "pwd", "ase", "ode", "key", "ure", "ken", "ret", "ial", "als", "ing", "uth"};
	char end[3];
	size_t at = name.len;

	for (int i = 2; i >= 0; i--) {
		while (at && (name.data[at - 1] == '_' || name.data[at - 1] == '-'))
			at--;
		if (!at)
			return false;
		end[i] = (char)(name.data[--at] | 0x20);
	}
	for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++)
		if (memcmp(end, ENDS[i], 3) == 0)
			return true;
	return false;
}

enum name_class { NAME_OTHER, NAME_PASSWORD, NAME_SECRET, NAME_AZURE };

static enum name_class class_of(struct slice name)
{
	static const char *const PASSWORDS[] = {"password", "passwd", "passphrase", "pwd", "passcode", NULL};
	static const char *const AZURE[] = {"accountkey", "sharedaccesskey", "sharedaccesssignature", NULL};
	static const char *const SECRETS[] = {"secret", "token", "apikey", "accesskey", "secretkey",
		"privatekey", "authkey", "encryptionkey", "signingkey", "masterkey", "servicekey",
		"servicerolekey", "subscriptionkey", "functionskey", "clientkey", "appkey", "credential",
		"credentials", "authstring", NULL};
	/* What leads to the next page of a list, and what counts words. */
	static const char *const NOT[] = {"pagetoken", "nexttoken", "continuationtoken", "synctoken",
		"cursortoken", "canceltoken", "cancellationtoken", "publickey", "publictoken", "stoptoken",
		"padtoken", "eostoken", "bostoken", "unktoken", "masktoken", "septoken", "clstoken", NULL};

	if (name.len < 3 || !may_be_secret(name) || ends_with_any(name, NOT))
		return NAME_OTHER;
	if (ends_with_any(name, PASSWORDS))
		return NAME_PASSWORD;
	if (ends_with_any(name, AZURE))
		return NAME_AZURE;
	return ends_with_any(name, SECRETS) || name_is(name, "_auth") ? NAME_SECRET : NAME_OTHER;
}

/* ---- Values -----------------------------------------------------------------------------------------------
 */

static bool is_hash(const char *value, size_t len)
{
	static const char *const PREFIXES[] = {
		"sha1-", "sha1:", "sha256-", "sha256:", "sha384-", "sha512-", "sha512:", "md5:", "crc32:"};

	for (size_t i = 0; i < sizeof(PREFIXES) / sizeof(PREFIXES[0]); i++)
		if (len > strlen(PREFIXES[i]) && strncasecmp(value, PREFIXES[i], strlen(PREFIXES[i])) == 0)
			return true;
	return false;
}

/* /etc/key, ./key, C:\key, https://host/key */
static bool is_place(const char *value, size_t len)
{
	return value[0] == '/' || value[0] == '~' ||
	       (len > 1 && value[0] == '.' && (value[1] == '/' || value[1] == '.')) ||
	       (len > 2 && value[1] == ':' && (value[2] == '\\' || value[2] == '/')) ||
	       memmem(value, len < LOOK_BYTES ? len : LOOK_BYTES, "://", 3);
}

/* Where a value stands: nothing else tells a password from what code calls it. */
enum place {
	PLACE_CODE,    /* password = config.password1 */
	PLACE_SETTING, /* DB_PASSWORD=hunter2, password: hunter2 */
	PLACE_QUOTED,
};

/* config.password, get_token, tokenizer2: a name. */
static bool is_identifier(const char *value, size_t len, const struct mask_look *look, enum place place)
{
	bool joined = false;

	if (!((value[0] | 0x20) >= 'a' && (value[0] | 0x20) <= 'z') && value[0] != '_')
		return false;
	for (size_t i = 0; i < len && i < LOOK_BYTES; i++) {
		if (!is_name_char((unsigned char)value[i]) || value[i] == '-' || value[i] == '$')
			return false;
		joined = joined || value[i] == '.' || value[i] == '_';
	}
	if (place == PLACE_SETTING && !joined)
		return look->digits == 0 && look->steps < 4;
	return look->digits < 2 || look->steps < (joined ? 8u : 4u);
}

static bool is_drawn(enum name_class class, const char *value, size_t len, enum place place)
{
	struct mask_look look;
	bool quoted = place == PLACE_QUOTED;

	if (len < PASSWORD_BYTES_MIN || mask_is_stand_in(value, len) || is_hash(value, len) ||
		is_place(value, len))
		return false;
	mask_look(value, len, &look);
	if (look.distinct < 5 || (!quoted && is_identifier(value, len, &look, place)))
		return false;
	if (class == NAME_PASSWORD) {
		unsigned classes = !!look.lower + !!look.upper + !!look.digits + !!look.others;
		return look.lower + look.upper && classes >= 2 &&
		       (look.digits || look.upper || look.steps > 4) &&
		       (look.digits || look.others || look.steps > 4);
	}
	if (len < (quoted ? 12u : 16u) || look.distinct < 8)
		return false;
	if (!look.digits)
		return look.upper && look.lower && look.steps >= 8 && !look.others && len >= 24;
	return look.lower + look.upper && look.steps >= 3;
}

static const char *kind_of(enum name_class class, struct slice name)
{
	static const char *const AWS[] = {"secretaccesskey", "awssecretkey", "awssessiontoken", NULL};

	if (class == NAME_PASSWORD)
		return "password";
	if (class == NAME_AZURE)
		return "azure key";
	return ends_with_any(name, AWS) ? "aws secret key" : "secret";
}

const char *mask_named_value(struct slice name, struct slice value)
{
	enum name_class class = class_of(name);

	if (class == NAME_OTHER || !value.len || memchr(value.data, ' ', value.len) ||
		memchr(value.data, '\n', value.len) || !is_drawn(class, value.data, value.len, PLACE_QUOTED))
		return NULL;
	return kind_of(class, name);
}

/* ---- Assignments ------------------------------------------------------------------------------------------
 */

static bool is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

/* The name before a = or a : at `at`, with quotes, brackets and a blank between them. */
static struct slice name_before(const struct mask_scan *scan, size_t at)
{
	size_t end = at, stop = at - scan->floor > GAP_BYTES_MAX ? at - GAP_BYTES_MAX : scan->floor;

	while (end > stop &&
		(scan->text[end - 1] == ' ' || is_quote(scan->text[end - 1]) || scan->text[end - 1] == '\\' ||
			scan->text[end - 1] == ']' || scan->text[end - 1] == ':'))
		end--;
	size_t start = end;
	stop = end - scan->floor > NAME_BYTES_MAX ? end - NAME_BYTES_MAX : scan->floor;
	while (start > stop && is_name_char((unsigned char)scan->text[start - 1]))
		start--;
	/* \nPASSWORD: the letter is part of the escape. */
	if (start > scan->floor && start < end && scan->text[start - 1] == '\\' &&
		strchr("nrt", scan->text[start]))
		start++;
	return (struct slice){scan->text + start, end - start};
}

/* Over blanks and an opening quote, which may be escaped and have a letter before it (b"…"). */
static size_t value_start(const struct mask_scan *scan, size_t at, bool *ret_quoted)
{
	size_t i = at, stop = at + GAP_BYTES_MAX < scan->len ? at + GAP_BYTES_MAX : scan->len;

	*ret_quoted = false;
	while (i < stop && (scan->text[i] == ' ' || scan->text[i] == '\t'))
		i++;
	if (i + 1 < stop && strchr("bfru", scan->text[i]) && scan->text[i] && is_quote(scan->text[i + 1]))
		i++;
	size_t quote = i;
	while (quote < stop && scan->text[quote] == '\\')
		quote++;
	if (quote < stop && is_quote(scan->text[quote])) {
		*ret_quoted = true;
		return quote + 1;
	}
	return i;
}

static bool match_authorization(struct mask_scan *scan, size_t value, struct mask_span *ret_span)
{
	static const char *const SCHEMES[] = {"bearer ", "basic ", "token ", "apikey ", "bot ", "negotiate "};
	size_t start = value;
	struct mask_look look;

	for (size_t i = 0; i < sizeof(SCHEMES) / sizeof(SCHEMES[0]) && start == value; i++)
		if (scan->len - value > strlen(SCHEMES[i]) &&
			strncasecmp(scan->text + value, SCHEMES[i], strlen(SCHEMES[i])) == 0)
			start = value + strlen(SCHEMES[i]);
	if (start >= scan->len)
		return false;
	if (mask_match_token(scan, start, ret_span))
		return true;
	size_t end = mask_run(scan, SET_WIDE, start);
	mask_look(scan->text + start, end - start, &look);
	if (end - start < 8 || mask_is_stand_in(scan->text + start, end - start) ||
		!(look.digits || (look.upper && look.lower)))
		return false;
	if (start == value && !is_drawn(NAME_SECRET, scan->text + start, end - start, PLACE_SETTING))
		return false;
	*ret_span = (struct mask_span){start, end, "authorization"};
	return true;
}

/* Cookie: a=…; b=…   the whole of it.   Set-Cookie: a=…; Path=/   its value. */
static bool match_cookie(struct mask_scan *scan, size_t value, bool set, struct mask_span *ret_span)
{
	size_t name = mask_run(scan, SET_TOKEN, value);

	if (name == value || name >= scan->len || scan->text[name] != '=')
		return false;
	size_t start = set ? name + 1 : value, end = mask_run(scan, set ? SET_COOKIE : SET_HEADER, start);
	while (end > start && scan->text[end - 1] == ' ')
		end--;
	size_t look = end - start > 256 ? 256 : end - start;
	if (end - start < 8 || mask_is_stand_in(scan->text + name + 1, end - name - 1) ||
		scan->text[start] == '[' || memchr(scan->text + start, '<', look) ||
		memchr(scan->text + start, '{', look) || memchr(scan->text + start, '$', look))
		return false;
	*ret_span = (struct mask_span){start, end, "cookie"};
	return true;
}

/* ==, !=, <=, ::, and the end of := and => */
static bool is_separator(const struct mask_scan *scan, size_t at, size_t *ret_after)
{
	char before = at > scan->floor ? scan->text[at - 1] : 0,
	     after = at + 1 < scan->len ? scan->text[at + 1] : 0;

	*ret_after = at + 1;
	if (scan->text[at] == ':') {
		if (after == '=')
			return false; /* the = comes next */
		return before != ':' && after != ':';
	}
	if (after == '=' || before == '=' || before == '!' || before == '<' || before == '>' || before == '~')
		return false;
	*ret_after += after == '>';
	return true;
}

static bool match_value(struct mask_scan *scan, struct slice name, enum name_class class, size_t start,
	enum place place, struct mask_span *ret_span)
{
	bool quoted = place == PLACE_QUOTED;

	if (start >= scan->len)
		return false;
	if (mask_match_token(scan, start, ret_span))
		return true;
	size_t end = mask_run(scan, quoted ? SET_QUOTED : SET_VALUE, start);
	if (quoted && (end >= scan->len || !(is_quote(scan->text[end]) || scan->text[end] == '\\')))
		return false;
	if (!quoted && end < scan->len && scan->text[end] == '(')
		return false; /* a call */
	if (!quoted)	      /* the end of a sentence */
		while (end > start && strchr(".:!?", scan->text[end - 1]))
			end--;
	if (!is_drawn(class, scan->text + start, end - start, place))
		return false;
	*ret_span = (struct mask_span){start, end, kind_of(class, name)};
	return true;
}

/* NAME=value, without blanks, in capitals or in the middle of something else than code. */
static bool is_setting(const struct mask_scan *scan, struct slice name, size_t at, size_t start)
{
	if (name.data + name.len != scan->text + at || start != at + 1)
		return false;
	if (name.data > scan->text && strchr("?&;", name.data[-1]) && name.data[-1])
		return true;
	for (size_t i = 0; i < name.len; i++)
		if (name.data[i] >= 'a' && name.data[i] <= 'z')
			return false;
	return true;
}

bool mask_match_assigned(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	size_t after;
	bool quoted;

	if (!is_separator(scan, at, &after))
		return false;
	struct slice name = name_before(scan, at);
	if (name.len < 3)
		return false;
	size_t start = value_start(scan, after, &quoted);
	if (start >= scan->len)
		return false;
	if (name_is(name, "authorization") || name_is(name, "proxy-authorization"))
		return match_authorization(scan, start, ret_span);
	if (scan->text[at] == ':' && (name_is(name, "cookie") || name_is(name, "set-cookie")))
		return match_cookie(scan, start, name.len > 6, ret_span);
	enum name_class class = class_of(name);
	if (name_is(name, "sig") && name.data > scan->text && strchr("?&", name.data[-1]))
		class = NAME_AZURE; /* of a shared access signature */
	if (class == NAME_OTHER)
		return false;
	enum place place = quoted							? PLACE_QUOTED
			   : scan->text[at] == ':' || is_setting(scan, name, at, start) ? PLACE_SETTING
											: PLACE_CODE;
	return match_value(scan, name, class, start, place, ret_span);
}

/* ---- The command line
 * --------------------------------------------------------------------------------------- */

/* curl -u name:password */
static bool match_curl_user(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	bool quoted;
	size_t back = at - scan->floor > LINE_BACK_MAX ? at - LINE_BACK_MAX : scan->floor;

	if (!memmem(scan->text + back, at - back, "curl", 4))
		return false;
	size_t start = value_start(scan, at + 3, &quoted), colon = mask_run(scan, SET_USER, start);
	if (colon == start || colon >= scan->len || scan->text[colon] != ':')
		return false;
	size_t end = mask_run(scan, quoted ? SET_QUOTED : SET_VALUE, colon + 1);
	if (end - colon < 5 || mask_is_stand_in(scan->text + colon + 1, end - colon - 1))
		return false;
	*ret_span = (struct mask_span){colon + 1, end, "password"};
	return true;
}

bool mask_match_option(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	bool quoted;
	size_t i = at;

	if (at > scan->floor && !strchr(" \t\n\"'`", scan->text[at - 1]))
		return false;
	if (mask_has(scan, at, "-u ", 3))
		return match_curl_user(scan, at, ret_span);
	if (!mask_has(scan, at, "--", 2))
		return false;
	while (i < scan->len && i < at + NAME_BYTES_MAX && is_name_char((unsigned char)scan->text[i]))
		i++;
	struct slice name = {scan->text + at, i - at};
	enum name_class class = class_of(name);
	if (class == NAME_OTHER || i >= scan->len || scan->text[i] != ' ')
		return false;
	size_t start = value_start(scan, i, &quoted);
	return start < scan->len && scan->text[start] != '-' &&
	       match_value(scan, name, class, start, quoted ? PLACE_QUOTED : PLACE_SETTING, ret_span);
}

/* ---- URLs, bearer tokens, bots
 * ------------------------------------------------------------------------------ */

bool mask_match_url(struct mask_scan *scan, size_t colon, struct mask_span *ret_span)
{
	size_t user = colon + (mask_has(scan, colon, "://", 3)		    ? 3
				      : mask_has(scan, colon, ":\\/\\/", 5) ? 5
									    : 0);

	if (user == colon || colon == scan->floor || !is_name_char((unsigned char)scan->text[colon - 1]))
		return false;
	size_t password = mask_run(scan, SET_USER, user);
	if (password >= scan->len || scan->text[password] != ':')
		return false;
	size_t end = mask_run(scan, SET_URL_PASSWORD, ++password);
	if (end == password || end + 1 >= scan->len || scan->text[end] != '@' ||
		!(is_name_char((unsigned char)scan->text[end + 1]) || scan->text[end + 1] == '['))
		return false;
	if (strchr("${<%*[", scan->text[password]) && scan->text[end - 1] != '$')
		return false; /* $PASSWORD, {password}, %s, *** */
	*ret_span = (struct mask_span){password, end, "url password"};
	return true;
}

bool mask_match_telegram(struct mask_scan *scan, size_t colon, struct mask_span *ret_span)
{
	size_t start = colon, end = mask_run(scan, SET_TOKEN, colon + 1);
	struct mask_look look;

	while (start > scan->floor && colon - start < 12 && scan->text[start - 1] >= '0' &&
		scan->text[start - 1] <= '9')
		start--;
	if (colon - start < 8 || colon - start > 10 || end - colon - 1 != 35)
		return false;
	bool after_bot = start >= scan->floor + 3 && memcmp(scan->text + start - 3, "bot", 3) == 0;
	if (!after_bot && !mask_boundary(scan, start))
		return false;
	mask_look(scan->text + colon + 1, 35, &look);
	if (!look.upper || !look.lower || !look.digits)
		return false;
	*ret_span = (struct mask_span){start, end, "telegram bot token"};
	return true;
}

/* "Bearer …" anywhere, also where no header's name stands before it. */
bool mask_match_bearer(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	struct mask_look look;
	size_t start = at + 7;

	if ((scan->text[at] | 0x20) != 'b' || scan->len - at < 8 ||
		strncasecmp(scan->text + at, "bearer ", 7) != 0)
		return false;
	if (start >= scan->len)
		return false;
	if (mask_match_token(scan, start, ret_span))
		return true;
	size_t end = mask_run(scan, SET_WIDE, start);
	mask_look(scan->text + start, end - start, &look);
	if (end - start < 16 || !look.digits || look.lower + look.upper == 0 || look.distinct < 8 ||
		mask_is_stand_in(scan->text + start, end - start))
		return false;
	*ret_span = (struct mask_span){start, end, "authorization"};
	return true;
}
