/* SPDX-License-Identifier: MIT */
/*
 * Values of something that is called a password, a secret or a token: where one ends, and whether it looks drawn and not
 * written. A value in quotes goes to the quote that closes it, over what is escaped in it; one without goes on over a
 * character that could end it (& ; , brackets) only where no other value begins behind it:
 *
 *	password: Tr0ub4dor&3          all of it             ?password=hunter2&user=ana     up to the &
 *	"pw": "pa\"ss w0rd"            all of it             foo(password=hunter2, 5)       up to the comma
 */
#include "transcript/mask_scan.h"

#include <strings.h>

#define LOOK_BYTES 256
#define PASSWORD_BYTES_MIN 6
#define PHRASE_BYTES_MAX 64 /* what is longer is a text */
#define QUOTED_BYTES_MAX 256 /* what is looked at for the quote that closes a value: no place is looked at more often */
#define JOINED_BYTES_MAX 128 /* of a password without quotes, behind the first character that could end it */

static bool is_name_char(unsigned char c)
{
	return mask_is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '$';
}

/* ---- Where it ends ----------------------------------------------------------------------------------------
 */

/* The quote that closes what `quote` opened, with as many backslashes before it; false: there is none near. */
static bool closing_quote(const struct mask_scan *scan, size_t start, size_t *ret_end)
{
	char quote = scan->text[start - 1];
	size_t depth = 0, stop = scan->len - start > QUOTED_BYTES_MAX ? start + QUOTED_BYTES_MAX : scan->len;

	while (start - 1 - depth > scan->floor && scan->text[start - 2 - depth] == '\\')
		depth++;
	for (size_t i = start, slashes = 0; i < stop && scan->text[i] != '\n'; i++) {
		if (scan->text[i] == quote && slashes <= depth) {
			*ret_end = i - slashes;
			return slashes == depth; /* fewer: what is around it ends here */
		}
		slashes = scan->text[i] == '\\' ? slashes + 1 : 0;
	}
	return false;
}

/* Behind one of & ; , and brackets: another assignment, a blank, the end. */
static bool goes_on(const struct mask_scan *scan, size_t at)
{
	size_t i = at + 1;

	if (i >= scan->len || !(mask_is_alnum((unsigned char)scan->text[i]) || strchr("!@#$%^*_+-?~", scan->text[i])))
		return false;
	while (i < scan->len && i - at < JOINED_BYTES_MAX && is_name_char((unsigned char)scan->text[i]))
		i++;
	return i >= scan->len || !strchr("=:\"'", scan->text[i]) || i - at == 1;
}

size_t mask_joined_end(struct mask_scan *scan, size_t start, size_t end)
{
	size_t first = end, stop = end + JOINED_BYTES_MAX;

	while (end > start && end < scan->len && end < stop && scan->text[end] &&
		strchr("&;,()[]{}|", scan->text[end]) && goes_on(scan, end))
		end = mask_run(scan, SET_VALUE, end + 1);
	return end < stop ? end : first;
}

bool mask_quoted_end(struct mask_scan *scan, size_t start, size_t *ret_end)
{
	if (closing_quote(scan, start, ret_end))
		return true;
	size_t end = mask_run(scan, SET_QUOTED, start);
	*ret_end = end;
	return end < scan->len && strchr("\"'`\\", scan->text[end]);
}

/* ---- What it looks like -----------------------------------------------------------------------------------------------
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

/* config.password, get_token, tokenizer2: a name. */
static bool is_identifier(const char *value, size_t len, const struct mask_look *look, enum mask_place place)
{
	bool joined = false;

	if (!((value[0] | 0x20) >= 'a' && (value[0] | 0x20) <= 'z') && value[0] != '_')
		return false;
	for (size_t i = 0; i < len && i < LOOK_BYTES; i++) {
		if (!is_name_char((unsigned char)value[i]) || value[i] == '-' || value[i] == '$')
			return false;
		joined = joined || value[i] == '.' || value[i] == '_';
	}
	if (place == MASK_SETTING && !joined)
		return look->digits == 0 && look->steps < 4;
	return look->digits < 2 || look->steps < (joined ? 8u : 4u);
}

/* Words between quotes: a passphrase, and not what a form, a schema or an error says about passwords. */
static bool is_phrase(const char *value, size_t len)
{
	static const char *const ABOUT[] = {"passw", "passphrase", "passwort", "kennwort", "charact", "enter ", "requir",
		"must ", "invalid", "incorrect", "wrong", "please", "forgot", "reset", "confirm", "optional", "minimum",
		"at least", "string", "default", "not set", "none", "empty", "missing", "the user", "to use", "used ", "field",
		"value", "login", "sign in", "log in", "account", "secret", "error", "should ", "e.g.", "see "};
	size_t look = len < LOOK_BYTES ? len : LOOK_BYTES;

	if (len < 10 || len > PHRASE_BYTES_MAX)
		return false;
	for (size_t at = 0; at < look; at++)
		for (size_t i = 0; i < sizeof(ABOUT) / sizeof(ABOUT[0]); i++)
			if (len - at >= strlen(ABOUT[i]) && strncasecmp(value + at, ABOUT[i], strlen(ABOUT[i])) == 0)
				return false;
	return !memmem(value, len, "${", 2) && !memmem(value, len, "{{", 2) && !memmem(value, len, "$(", 2) &&
	       !memmem(value, len, "%s", 2) && !memmem(value, len, " + ", 3);
}

/* ?token=…: nobody writes there what is called so but a token. */
static bool is_drawn_in_url(enum mask_name class, size_t len, const struct mask_look *look)
{
	if (class == MASK_PASSWORD)
		return look->distinct >= 4 && (look->digits || look->others || look->steps);
	if (len < 8 || look->distinct < 5)
		return false;
	return look->digits ? look->lower + look->upper > 0 : len >= 16 && look->upper && look->lower && look->steps >= 4;
}

bool mask_is_drawn(enum mask_name class, const char *value, size_t len, enum mask_place place)
{
	struct mask_look look;
	bool quoted = place == MASK_QUOTED;

	if (!value || len < PASSWORD_BYTES_MIN || mask_is_stand_in(value, len) || is_hash(value, len) ||
		is_place(value, len))
		return false;
	mask_look(value, len, &look);
	if (memchr(value, ' ', len))
		return class == MASK_PASSWORD && quoted && look.distinct >= 6 && is_phrase(value, len);
	if (place == MASK_URL)
		return is_drawn_in_url(class, len, &look);
	if (look.distinct < 5 || (!quoted && is_identifier(value, len, &look, place)))
		return false;
	if (class == MASK_PASSWORD) {
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
