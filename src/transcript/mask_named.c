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
#define SETTING_BYTES_MIN 8 /* of a password in letters and digits that a small name sets */

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
		"ord", "swd", "pwd", "ase", "ode", "key", "ure", "ken", "ret", "ial", "als", "ing", "uth", "ass", "ort", "nha",
		"sig"};
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

/* pass, DB_PASS, db-pass, dbPass; not bypass, compass, class. */
static bool is_pass(struct slice name)
{
	if (name.len < 4 || !ends_with_word(name, "pass"))
		return false;
	unsigned char before = name.len > 4 ? (unsigned char)name.data[name.len - 5] : '_';
	return strchr("_-.", before) || (name.data[name.len - 4] == 'P' && before >= 'a' && before <= 'z');
}

/* What a parameter of a URL may be called beside that. */
static bool is_url_secret(struct slice name)
{
	static const char *const NAMES[] = {"sig", "signature", "auth", NULL};

	return name.len >= 3 && may_be_secret(name) && ends_with_any(name, NAMES);
}

static enum mask_name class_of(struct slice name)
{
	static const char *const PASSWORDS[] = {
		"password", "passwd", "passphrase", "pwd", "passcode", "passwort", "kennwort", "senha", NULL};
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
		return MASK_NO_NAME;
	if (ends_with_any(name, PASSWORDS) || is_pass(name))
		return MASK_PASSWORD;
	if (ends_with_any(name, AZURE))
		return MASK_AZURE;
	return ends_with_any(name, SECRETS) || name_is(name, "_auth") ? MASK_SECRET : MASK_NO_NAME;
}

/* ---- Values -----------------------------------------------------------------------------------------------
 */

static const char *kind_of(enum mask_name class, struct slice name)
{
	static const char *const AWS[] = {"secretaccesskey", "awssecretkey", "awssessiontoken", NULL};

	if (class == MASK_PASSWORD)
		return "password";
	if (class == MASK_AZURE)
		return "azure key";
	return ends_with_any(name, AWS) ? "aws secret key" : "secret";
}

const char *mask_named_value(struct slice name, struct slice value)
{
	enum mask_name class = class_of(name);

	if (class == MASK_NO_NAME || !value.len || memchr(value.data, '\n', value.len) || !mask_is_drawn(class, value.data, value.len, MASK_QUOTED))
		return NULL;
	return kind_of(class, name);
}

/* ---- Assignments ------------------------------------------------------------------------------------------
 */

static bool is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

/* What stands before a = or a :, and what it means. */
struct name {
	struct slice text;
	size_t start, end; /* in the scanned text */
	char decoded[NAME_BYTES_MAX];
};

/* The character that an escape at `at` means: \u0070, also with more backslashes; 0: there is none. */
static char unicode_escape(const struct mask_scan *scan, size_t at, size_t stop, size_t *ret_len)
{
	static const char DIGITS[] = "0123456789abcdef";
	size_t i = at;
	unsigned value = 0;

	while (i < stop && scan->text[i] == '\\')
		i++;
	if (i == at || stop - i < 5 || scan->text[i] != 'u')
		return 0;
	*ret_len = i + 5 - at;
	for (int digit = 0; digit < 4; digit++) {
		char c = scan->text[++i];
		const char *found = strchr(DIGITS, c >= 'A' && c <= 'F' ? c | 0x20 : c);
		if (!c || !found)
			return 0;
		value = value * 16 + (unsigned)(found - DIGITS);
	}
	return value < 0x80 ? (char)value : 0;
}

/* A name with letters written as escapes, as JSON within a string may have them: "pass\u0077ord". */
static void decode_name(const struct mask_scan *scan, struct name *name)
{
	size_t start = name->start, len = 0, used;
	size_t stop = name->end - scan->floor > 6 * NAME_BYTES_MAX ? name->end - 6 * NAME_BYTES_MAX : scan->floor;

	while (start > stop && (is_name_char((unsigned char)scan->text[start - 1]) || scan->text[start - 1] == '\\'))
		start--;
	for (size_t at = start; at < name->end; at += used) {
		char c = unicode_escape(scan, at, name->end, &used);
		if (!c) {
			c = scan->text[at];
			used = 1;
		}
		/* \nPASSWORD, ?a=1\u0026token: what no name has begins it anew. */
		if (!is_name_char((unsigned char)c) || len == sizeof(name->decoded)) {
			used += c == '\\' && at + 1 < name->end && strchr("nrt", scan->text[at + 1]);
			len = 0;
			start = at + used;
			continue;
		}
		name->decoded[len++] = c;
	}
	name->start = start;
	name->text = (struct slice){name->decoded, len};
}

/* The name before a = or a : at `at`, with quotes, brackets and a blank between them. */
static void name_before(const struct mask_scan *scan, size_t at, struct name *ret_name)
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
	ret_name->start = start;
	ret_name->end = end;
	ret_name->text = (struct slice){scan->text + start, end - start};
	if (start > scan->floor && start < end && scan->text[start - 1] == '\\')
		decode_name(scan, ret_name);
}

/* Words that are not written with the letters names have, before a : or a ： */
static bool is_foreign_password(const struct mask_scan *scan, size_t end)
{
	static const char *const WORDS[] = {"密码", "密碼", "口令", "パスワード", "비밀번호", "пароль", "Пароль", "contraseña",
		"Contraseña", NULL};

	while (end > scan->floor && (scan->text[end - 1] == ' ' || is_quote(scan->text[end - 1])))
		end--;
	for (const char *const *word = WORDS; *word; word++) {
		size_t len = strlen(*word);
		if (end - scan->floor >= len && memcmp(scan->text + end - len, *word, len) == 0)
			return true;
	}
	return false;
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
	if (start == value && !mask_is_drawn(MASK_SECRET, scan->text + start, end - start, MASK_SETTING))
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
	if (mask_has(scan, at, "：", 3)) {
		*ret_after = at + 3;
		return true;
	}
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

/* What stands in a sentence looks drawn, and is no method: SHA256, base64-encoded. */
static bool is_drawn_in_words(const char *value, size_t len)
{
	struct mask_look look;
	bool odd = false;

	mask_look(value, len, &look);
	for (size_t i = 0; i < len && i < 64; i++)
		odd = odd || !(is_name_char((unsigned char)value[i]) || strchr("/+'", value[i]) || value[i] < 0);
	if (value[0] >= 'A' && value[0] <= 'Z' && value[1] >= 'A' && value[1] <= 'Z')
		return false;
	return look.digits && ((look.lower && look.upper) || (odd && look.lower + look.upper));
}

static bool is_word(const struct mask_scan *scan, size_t start, size_t end)
{
	while (start < end && is_name_char((unsigned char)scan->text[start]))
		start++;
	return start == end;
}

static bool match_value(struct mask_scan *scan, struct slice name, enum mask_name class, size_t start,
	enum mask_place place, struct mask_span *ret_span)
{
	bool quoted = place == MASK_QUOTED;

	if (start >= scan->len)
		return false;
	if (mask_match_token(scan, start, ret_span))
		return true;
	size_t end = mask_run(scan, SET_VALUE, start);
	if (quoted && !mask_quoted_end(scan, start, &end))
		return false;
	if (!quoted && end < scan->len && scan->text[end] == '(' && is_word(scan, start, end))
		return false; /* a call */
	if (class == MASK_PASSWORD && (place == MASK_SETTING || (place == MASK_CODE && scan->text[start - 1] == '=')))
		end = mask_joined_end(scan, start, end);
	const char *fragment = place == MASK_URL ? memchr(scan->text + start, '#', end - start) : NULL;
	if (fragment)
		end = (size_t)(fragment - scan->text);
	size_t said = end;
	if (!quoted) /* the end of a sentence */
		while (end > start && strchr(".:!?", scan->text[end - 1]))
			end--;
	if (!mask_is_drawn(class, scan->text + start, end - start, place))
		return false;
	/* PASSWORD=Tr0ub4dor!: nobody knows whose it is, and a secret that is shown but for its end is shown. */
	while (class == MASK_PASSWORD && scan->text[start - 1] == '=' && end < said && strchr("!?", scan->text[end]))
		end++;
	*ret_span = (struct mask_span){start, end, kind_of(class, name)};
	return true;
}

/* The character before the name; 0: nothing. An escaped & is one. */
static char before_name(const struct mask_scan *scan, const struct name *name)
{
	size_t at = name->start, used;

	if (at >= scan->floor + 6 && scan->text[at - 6] == '\\' && scan->text[at - 5] == 'u')
		return unicode_escape(scan, at - 6, at, &used);
	if (at >= scan->floor + 5 && memcmp(scan->text + at - 5, "&amp;", 5) == 0)
		return '&';
	return at > scan->floor ? scan->text[at - 1] : 0;
}

/* password=hunter2secret, a line or a word of its own: not an argument of a call, no name and no number of one. */
static bool is_plain_setting(const struct mask_scan *scan, const struct name *name, size_t start)
{
	size_t before = name->start, end = start;
	unsigned inside = 0, digits = 0;

	while (before > scan->floor && scan->text[before - 1] == ' ')
		before--;
	if (before > scan->floor && (before == name->start ? scan->text[before - 1] != '\n' : strchr("(,", scan->text[before - 1]) != NULL))
		return false;
	for (; end < scan->len && mask_is_alnum((unsigned char)scan->text[end]); end++) {
		bool digit = scan->text[end] >= '0' && scan->text[end] <= '9';
		digits += digit;
		inside += !digit && end > start && scan->text[end - 1] >= '0' && scan->text[end - 1] <= '9';
	}
	if (end - start < SETTING_BYTES_MIN || !(inside || digits > 1))
		return false;
	while (end < scan->len && strchr(".!?", scan->text[end]))
		end++;
	return end == scan->len || scan->text[end] == ' ' || scan->text[end] == '\n';
}

/* NAME=value, without blanks, in capitals or in the middle of something else than code. */
static bool is_setting(const struct mask_scan *scan, const struct name *name, size_t at, size_t start)
{
	if (name->end != at || start != at + 1)
		return false;
	if (before_name(scan, name) == ';')
		return true;
	for (size_t i = 0; i < name->text.len; i++)
		if (name->text.data[i] >= 'a' && name->text.data[i] <= 'z')
			return is_plain_setting(scan, name, start);
	return true;
}

static enum mask_place place_of(
	const struct mask_scan *scan, const struct name *name, size_t at, size_t start, bool quoted)
{
	char before = before_name(scan, name);

	if (quoted)
		return MASK_QUOTED;
	if (scan->text[at] == '=' && name->end == at && start == at + 1 && before && strchr("?&#", before))
		return MASK_URL;
	return scan->text[at] != '=' || is_setting(scan, name, at, start) ? MASK_SETTING : MASK_CODE;
}

bool mask_match_assigned(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	size_t after;
	bool quoted;

	if (!is_separator(scan, at, &after))
		return false;
	struct name said;
	name_before(scan, at, &said);
	struct slice name = said.text;
	size_t start = value_start(scan, after, &quoted);
	if (start >= scan->len)
		return false;
	if (name.len < 3)
		return is_foreign_password(scan, at) &&
		       match_value(scan, SLICE_LITERAL("password"), MASK_PASSWORD, start, quoted ? MASK_QUOTED : MASK_SETTING,
			       ret_span);
	if (name_is(name, "authorization") || name_is(name, "proxy-authorization"))
		return match_authorization(scan, start, ret_span);
	if (scan->text[at] == ':' && (name_is(name, "cookie") || name_is(name, "set-cookie")))
		return match_cookie(scan, start, name.len > 6, ret_span);
	enum mask_name class = class_of(name);
	enum mask_place place = place_of(scan, &said, at, start, quoted);
	if (place == MASK_URL && class == MASK_NO_NAME && is_url_secret(name)) /* sig: of a shared access signature */
		class = name_is(name, "sig") ? MASK_AZURE : MASK_SECRET;
	if (class == MASK_NO_NAME || !match_value(scan, name, class, start, place, ret_span))
		return false;
	/* PASS: TestParse2, and all tests pass: `make test`, are no passwords. */
	if (name.len > 4 || class != MASK_PASSWORD || !ends_with_word(name, "pass"))
		return true;
	return (name.data[0] == 'p' || scan->text[at] == '=') &&
	       is_drawn_in_words(scan->text + ret_span->start, ret_span->end - ret_span->start);
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

/* sshpass -p VALUE, mysql -pVALUE */
static bool match_short_option(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	size_t back = at - scan->floor > LINE_BACK_MAX ? at - LINE_BACK_MAX : scan->floor;
	const char *line = scan->text + back;
	bool quoted, ssh = memmem(line, at - back, "sshpass", 7) != NULL;

	if (!ssh && !memmem(line, at - back, "mysql", 5) && !memmem(line, at - back, "mariadb", 7))
		return false;
	size_t start = value_start(scan, at + 2, &quoted);
	if (start >= scan->len || (!ssh && start > at + 2 && !quoted))
		return false;
	return match_value(scan, SLICE_LITERAL("password"), MASK_PASSWORD, start, quoted ? MASK_QUOTED : MASK_SETTING,
		ret_span);
}

bool mask_match_option(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	bool quoted;
	size_t i = at;

	if (at > scan->floor && !strchr(" \t\n\"'`", scan->text[at - 1]))
		return false;
	if (mask_has(scan, at, "-u ", 3))
		return match_curl_user(scan, at, ret_span);
	if (mask_has(scan, at, "-p", 2))
		return match_short_option(scan, at, ret_span);
	if (!mask_has(scan, at, "--", 2))
		return false;
	while (i < scan->len && i < at + NAME_BYTES_MAX && is_name_char((unsigned char)scan->text[i]))
		i++;
	struct slice name = {scan->text + at, i - at};
	enum mask_name class = class_of(name);
	if (class == MASK_NO_NAME || i >= scan->len || scan->text[i] != ' ')
		return false;
	size_t start = value_start(scan, i, &quoted);
	return start < scan->len && scan->text[start] != '-' &&
	       match_value(scan, name, class, start, quoted ? MASK_QUOTED : MASK_SETTING, ret_span);
}

/* ---- What is said ----------------------------------------------------------------------------------------
 */

/* my password is Tr0ub4dor&3, password "Tr0ub4dor&3" */
bool mask_match_said(struct mask_scan *scan, size_t at, struct mask_span *ret_span)
{
	static const char *const WORDS[] = {"password", "passphrase", "passcode", "passwort", "kennwort", NULL};
	static const char *const VERBS[] = {" is ", " was ", " is: ", " ist ", " lautet ", " lautet: ", NULL};
	size_t end = at, start;
	bool quoted;

	for (const char *const *word = WORDS; end == at && *word; word++)
		if (scan->len - at > strlen(*word) && strncasecmp(scan->text + at, *word, strlen(*word)) == 0)
			end = at + strlen(*word);
	if (end == at || scan->text[end] != ' ')
		return false;
	size_t said = end;
	for (const char *const *verb = VERBS; said == end && *verb; verb++)
		if (mask_has(scan, end, *verb, strlen(*verb)))
			said = end + strlen(*verb) - 1;
	start = value_start(scan, said, &quoted);
	if (start >= scan->len || (said == end && !quoted) ||
		!match_value(scan, SLICE_LITERAL("password"), MASK_PASSWORD, start, quoted ? MASK_QUOTED : MASK_SETTING,
			ret_span))
		return false;
	return strcmp(ret_span->kind, "password") != 0 || scan->text[said - 1] == ':' ||
	       is_drawn_in_words(scan->text + ret_span->start, ret_span->end - ret_span->start);
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
