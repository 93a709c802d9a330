/* SPDX-License-Identifier: MIT */
/*
 * Numbers. The text is taken apart into sign, digits and a power of ten, which is exact for any number of
 * digits and does not ask the locale what a decimal point looks like.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"

/* value = digits * 10^exponent; digits run from `first` to before `after`, perhaps with a point in between. */
struct decimal {
	bool negative;
	const char *first, *after; /* without zeros at either end; equal if the value is 0 */
	size_t digits;
	int64_t exponent; /* of the last digit */
};

/* Larger ones are cut to this: nobody can write that many zeros to make up for it. */
#define EXPONENT_MAX 1000000000000

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int64_t exponent_parse(const char *at, const char *end)
{
	int64_t value = 0;
	bool negative = at < end && *at == '-';
	if (at < end && !is_digit(*at))
		at++;
	for (; at < end && value < EXPONENT_MAX; at++)
		value = value * 10 + (*at - '0');
	return negative ? -value : value;
}

static struct decimal decimal_parse(const struct json *number)
{
	const char *at = number->text, *end = at + number->len;
	struct decimal decimal = {0};
	if (*at == '-') {
		decimal.negative = true;
		at++;
	}
	const char *mantissa_end = at, *point = NULL;
	for (; mantissa_end < end && (*mantissa_end | 0x20) != 'e'; mantissa_end++) {
		if (*mantissa_end == '.')
			point = mantissa_end;
	}
	if (mantissa_end < end)
		decimal.exponent = exponent_parse(mantissa_end + 1, end);
	const char *last = mantissa_end;
	while (at < last && (*at == '0' || *at == '.'))
		at++;
	while (last > at && (last[-1] == '0' || last[-1] == '.'))
		last--;
	decimal.first = at;
	decimal.after = last;
	decimal.digits = (size_t)(last - at);
	if (point && point >= at && point < last)
		decimal.digits--;
	if (point == NULL)
		point = mantissa_end;
	decimal.exponent += last <= point ? point - last : -(last - point - 1);
	return decimal;
}

bool json_int64(const struct json *number, int64_t *ret_value)
{
	if (number->type != JSON_NUMBER)
		return false;
	struct decimal decimal = decimal_parse(number);
	if (decimal.digits == 0) {
		*ret_value = 0;
		return true;
	}
	if (decimal.exponent < 0 || decimal.exponent > 19 || decimal.digits + (size_t)decimal.exponent > 19)
		return false;
	uint64_t value = 0; /* at most 19 digits: no overflow */
	for (const char *at = decimal.first; at < decimal.after; at++) {
		if (*at != '.')
			value = value * 10 + (uint64_t)(*at - '0');
	}
	for (int64_t i = 0; i < decimal.exponent; i++)
		value *= 10;
	if (value > (uint64_t)INT64_MAX + decimal.negative)
		return false;
	*ret_value = (int64_t)(decimal.negative ? -value : value);
	return true;
}

/* A double is decided by at most 767 digits and by whether anything but zeros follows. */
#define DOUBLE_DIGITS 768

bool json_double(const struct json *number, double *ret_value)
{
	char text[DOUBLE_DIGITS + 32];
	size_t len = 0;
	if (number->type != JSON_NUMBER)
		return false;
	struct decimal decimal = decimal_parse(number);
	int64_t exponent = decimal.exponent;
	for (const char *at = decimal.first; at < decimal.after && len < DOUBLE_DIGITS; at++) {
		if (*at != '.')
			text[len++] = *at;
	}
	if (len < decimal.digits) { /* the last digit is not 0, so a 1 stands for all that is left out */
		exponent += (int64_t)(decimal.digits - len) - 1;
		text[len++] = '1';
	}
	if (len == 0) {
		*ret_value = decimal.negative ? -0.0 : 0.0;
		return true;
	}
	/* Beyond these it is infinite or zero anyway, and the exponent fits the buffer. */
	exponent = exponent > 100000 ? 100000 : exponent < -100000 ? -100000 : exponent;
	struct buffer digits = {.data = text, .len = len, .cap = sizeof text, .max = sizeof text - 1};
	buffer_add_char(&digits, 'e');
	buffer_add_i64(&digits, exponent);
	double value = strtod(text, NULL);
	if (isinf(value))
		return false;
	*ret_value = decimal.negative ? -value : value;
	return true;
}
