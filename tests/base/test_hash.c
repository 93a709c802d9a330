/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/alloc.h"
#include "base/hash.h"

/* Vectors of RFC 3720, appendix B.4, and the check value of the catalogue of CRCs. */
static void crc32c__published_vectors(void **state)
{
	(void)state;
	uint8_t bytes[32];
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(0, "", 0), 0);
	assert_int_equal(crc32c(0, NULL, 0), 0);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, 32), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(crc32c(0, bytes, 32), 0x46dd794e);
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)(31 - i);
	assert_int_equal(crc32c(0, bytes, 32), 0x113fdb5c);
}

static void crc32c_portable__published_vectors(void **state)
{
	(void)state;
	static const uint8_t zeros[32];
	assert_int_equal(crc32c_portable(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c_portable(0, zeros, 32), 0x8a9136aa);
	assert_int_equal(crc32c_portable(0, NULL, 0), 0);
}

/* The definition, one bit after the other. */
static uint32_t crc_by_bits(uint32_t crc, const uint8_t *bytes, size_t len)
{
	crc = ~crc;
	for (size_t i = 0; i < len; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void fill(uint8_t *bytes, size_t len)
{
	uint32_t value = 12345;
	for (size_t i = 0; i < len; i++) {
		value = value * 1103515245u + 12345u;
		bytes[i] = (uint8_t)(value >> 16);
	}
}

static void crc32c__every_length_and_alignment_as_defined(void **state)
{
	(void)state;
	static uint8_t bytes[8000];
	fill(bytes, sizeof(bytes));
	for (size_t len = 0; len < 7900; len += len < 850 ? 1 : 41) {
		size_t start = len % 9;
		uint32_t expected = crc_by_bits(0x1234abcd, bytes + start, len);
		assert_int_equal(crc32c(0x1234abcd, bytes + start, len), expected);
		assert_int_equal(crc32c_portable(0x1234abcd, bytes + start, len), expected);
	}
}

static void crc32c__in_pieces_as_in_one(void **state)
{
	(void)state;
	static uint8_t bytes[4000];
	fill(bytes, sizeof(bytes));
	uint32_t whole = crc32c(0, bytes, sizeof(bytes));
	for (size_t cut = 0; cut <= sizeof(bytes); cut += 13)
		assert_int_equal(crc32c(crc32c(0, bytes, cut), bytes + cut, sizeof(bytes) - cut), whole);
}

static void crc32c__every_single_bit_changes_it(void **state)
{
	(void)state;
	uint8_t bytes[400];
	fill(bytes, sizeof(bytes));
	uint32_t before = crc32c(0, bytes, sizeof(bytes));
	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(crc32c(0, bytes, sizeof(bytes)), before);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void assert_sha256(const void *data, size_t len, const char *expected)
{
	uint8_t digest[SHA256_BYTES];
	char text[SHA256_HEX_BYTES];
	assert_int_equal(sha256_of(data, len, digest), 0);
	hex_encode(digest, sizeof(digest), text);
	assert_string_equal(text, expected);
}

/* Vectors of FIPS 180-2, appendix B, and the one of no bytes. */
static void sha256__published_vectors(void **state)
{
	(void)state;
	assert_sha256("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_sha256(NULL, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_sha256("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	char *million = mem_alloc(1000000);
	memset(million, 'a', 1000000);
	assert_sha256(million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	mem_free(million);
}

static void sha256__in_pieces_as_in_one(void **state)
{
	(void)state;
	uint8_t bytes[300], whole[SHA256_BYTES], pieces[SHA256_BYTES];
	fill(bytes, sizeof(bytes));
	assert_int_equal(sha256_of(bytes, sizeof(bytes), whole), 0);
	for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
		struct sha256 hash;
		assert_int_equal(sha256_init(&hash), 0);
		sha256_update(&hash, bytes, cut);
		sha256_update(&hash, NULL, 0);
		sha256_update(&hash, bytes + cut, sizeof(bytes) - cut);
		sha256_final(&hash, pieces);
		assert_memory_equal(pieces, whole, sizeof(whole));
	}
}

static void sha256__released_unfinished(void **state)
{
	(void)state;
	struct sha256 hash;
	assert_int_equal(sha256_init(&hash), 0);
	sha256_update(&hash, "abc", 3);
	sha256_release(&hash);
	sha256_release(&hash);
	assert_null(hash.state);
}

static void hex__lower_case_and_nul(void **state)
{
	(void)state;
	char text[9];
	hex_encode((const uint8_t *)"\x00\x0f\xa5\xff", 4, text);
	assert_string_equal(text, "000fa5ff");
	hex_encode(NULL, 0, text);
	assert_string_equal(text, "");
}

static int ones(uint64_t value)
{
	return __builtin_popcountll(value);
}

/* About half of the 64 bits change with each bit of the input: over all bits of an input their mean lies
 * near 32. */
static void table_hash__every_bit_counts_at_every_length(void **state)
{
	(void)state;
	uint8_t bytes[100];
	fill(bytes, sizeof(bytes));
	for (size_t len = 1; len <= sizeof(bytes); len++) {
		uint64_t before = hash_bytes(bytes, len);
		int changed = 0;
		for (size_t bit = 0; bit < 8 * len; bit++) {
			bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			int now = ones(hash_bytes(bytes, len) ^ before);
			bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_true(now >= 8);
			changed += now;
		}
		assert_in_range(changed, 28 * 8 * len, 36 * 8 * len);
	}
}

static void table_hash__length_alone_tells_apart(void **state)
{
	(void)state;
	static const uint8_t zeros[300];
	uint64_t seen[300];
	for (size_t len = 0; len < 300; len++) {
		seen[len] = hash_bytes(zeros, len);
		for (size_t before = 0; before < len; before++)
			assert_true(seen[before] != seen[len]);
	}
	assert_true(hash_bytes(NULL, 0) == seen[0]);
}

/* 2^16 message ids in a table of 2^16 slots, by the low bits and by the high ones: as good as random is 1 -
 * 1/e, which is 63.2 % of the slots in use. */
static void table_hash__message_ids_spread(void **state)
{
	(void)state;
	static uint8_t low[65536], high[65536];
	unsigned low_used = 0, high_used = 0;
	for (unsigned i = 1; i <= 65536; i++) {
		char id[12] = "m";
		size_t len = 1;
		for (unsigned value = i; value; value /= 10)
			id[len++] = (char)('0' + value % 10);
		uint64_t hash = hash_bytes(id, len);
		low_used += !low[hash & 65535];
		low[hash & 65535] = 1;
		high_used += !high[hash >> 48];
		high[hash >> 48] = 1;
	}
	assert_in_range(low_used, 65536 * 62 / 100, 65536 * 65 / 100);
	assert_in_range(high_used, 65536 * 62 / 100, 65536 * 65 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32c__published_vectors),
		cmocka_unit_test(crc32c_portable__published_vectors),
		cmocka_unit_test(crc32c__every_length_and_alignment_as_defined),
		cmocka_unit_test(crc32c__in_pieces_as_in_one),
		cmocka_unit_test(crc32c__every_single_bit_changes_it),
		cmocka_unit_test(sha256__published_vectors),
		cmocka_unit_test(sha256__in_pieces_as_in_one),
		cmocka_unit_test(sha256__released_unfinished),
		cmocka_unit_test(hex__lower_case_and_nul),
		cmocka_unit_test(table_hash__every_bit_counts_at_every_length),
		cmocka_unit_test(table_hash__length_alone_tells_apart),
		cmocka_unit_test(table_hash__message_ids_spread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
