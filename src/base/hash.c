/* SPDX-License-Identifier: MIT */
/*
 * CRC-32C: the processor's instruction, three blocks at a time to hide its latency, or eight tables.
 * SHA-256: libcrypto. The hash for tables: 128-bit products folded to 64 bits.
 *
 * Bits are reflected in a CRC register: bit 31 stands for x^0 and bit 0 for x^31.
 */
#include "base/hash.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "base/error.h"

#if defined(__x86_64__)
#define HAVE_CRC32_INSTRUCTION 1
#include <nmmintrin.h>
#include <wmmintrin.h>
#endif

#define CRC32C_POLYNOMIAL 0x82f63b78u /* reflected, without x^32 */

static inline uint64_t read_u64(const uint8_t *bytes)
{
	uint64_t value;
	memcpy(&value, bytes, sizeof(value));
	return value;
}

static inline uint32_t read_u32(const uint8_t *bytes)
{
	uint32_t value;
	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* crc_tables[k][b]: the register after byte b and k zero bytes. */
static uint32_t crc_tables[8][256];
static pthread_once_t crc_tables_once = PTHREAD_ONCE_INIT;

static void fill_crc_tables(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CRC32C_POLYNOMIAL : 0);
		crc_tables[0][byte] = crc;
	}
	for (int zeros = 1; zeros < 8; zeros++)
		for (int byte = 0; byte < 256; byte++) {
			uint32_t crc = crc_tables[zeros - 1][byte];
			crc_tables[zeros][byte] = crc >> 8 ^ crc_tables[0][crc & 0xff];
		}
}

uint32_t crc32c_portable(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	pthread_once(&crc_tables_once, fill_crc_tables);
	crc = ~crc;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	for (; len >= 8; bytes += 8, len -= 8) {
		uint64_t word = read_u64(bytes) ^ crc;
		crc = 0;
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++)
			crc ^= crc_tables[7 - i][word >> (8 * i) & 0xff];
	}
#endif
	for (; len > 0; bytes++, len--)
		crc = crc >> 8 ^ crc_tables[0][(crc ^ *bytes) & 0xff];
	return ~crc;
}

#if defined(HAVE_CRC32_INSTRUCTION)

/*
 * Three blocks of equal length are summed side by side, then joined: the first register is moved over two
 * blocks of zeros and the second over one. Moving over n bytes multiplies by x^(8n) modulo the polynomial; a
 * carry-less product of two registers fed to the instruction gives a * b * x^33, so the factor is x^(8n -
 * 33).
 */
#define LONG_BLOCK 1024u
#define SHORT_BLOCK 128u
#define MOVE_2048 0xa51b6135u /* x^(8 * 2048 - 33) */
#define MOVE_1024 0x170076fau
#define MOVE_256 0xb9e02b86u
#define MOVE_128 0x0d3b6092u

#define CRC_TARGET __attribute__((target("sse4.2,pclmul")))

CRC_TARGET static inline uint64_t crc_move(uint64_t crc, uint32_t factor)
{
	__m128i product =
		_mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc), _mm_cvtsi32_si128((int)factor), 0);
	return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

CRC_TARGET static inline uint64_t crc_three_blocks(
	uint64_t crc, const uint8_t *bytes, size_t block, uint32_t move_two, uint32_t move_one)
{
	uint64_t second = 0, third = 0;
	for (size_t at = 0; at < block; at += 8) {
		crc = _mm_crc32_u64(crc, read_u64(bytes + at));
		second = _mm_crc32_u64(second, read_u64(bytes + block + at));
		third = _mm_crc32_u64(third, read_u64(bytes + 2 * block + at));
	}
	return crc_move(crc, move_two) ^ crc_move(second, move_one) ^ third;
}

CRC_TARGET static uint32_t crc32c_instruction(uint32_t start, const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint64_t crc = ~start;
	for (; len >= 3 * LONG_BLOCK; bytes += 3 * LONG_BLOCK, len -= 3 * LONG_BLOCK)
		crc = crc_three_blocks(crc, bytes, LONG_BLOCK, MOVE_2048, MOVE_1024);
	for (; len >= 3 * SHORT_BLOCK; bytes += 3 * SHORT_BLOCK, len -= 3 * SHORT_BLOCK)
		crc = crc_three_blocks(crc, bytes, SHORT_BLOCK, MOVE_256, MOVE_128);
	for (; len >= 8; bytes += 8, len -= 8)
		crc = _mm_crc32_u64(crc, read_u64(bytes));
	for (; len > 0; bytes++, len--)
		crc = _mm_crc32_u8((uint32_t)crc, *bytes);
	return ~(uint32_t)crc;
}
#endif

typedef uint32_t crc32c_function(uint32_t crc, const void *data, size_t len);
static crc32c_function crc32c_choose;
/* Any thread may be the first to choose: all choose the same. */
static _Atomic(crc32c_function *) crc32c_chosen = crc32c_choose;

static uint32_t crc32c_choose(uint32_t crc, const void *data, size_t len)
{
	crc32c_function *function = crc32c_portable;
#if defined(HAVE_CRC32_INSTRUCTION)
	if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
		function = crc32c_instruction;
#endif
	atomic_store_explicit(&crc32c_chosen, function, memory_order_relaxed);
	return function(crc, data, len);
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	return atomic_load_explicit(&crc32c_chosen, memory_order_relaxed)(crc, data, len);
}

/* Looked up once: libcrypto searches its providers at each use of the ready-made EVP_sha256(). */
static EVP_MD *sha256_method;
static pthread_once_t sha256_once = PTHREAD_ONCE_INIT;

static void fetch_sha256(void)
{
	sha256_method = EVP_MD_fetch(NULL, "SHA256", NULL);
}

int sha256_init(struct sha256 *hash)
{
	hash->state = NULL;
	pthread_once(&sha256_once, fetch_sha256);
	EVP_MD_CTX *state = EVP_MD_CTX_new();
	if (!state)
		return BOBBIN_ENOMEM;
	if (EVP_DigestInit_ex(state, sha256_method ? sha256_method : EVP_sha256(), NULL) != 1) {
		EVP_MD_CTX_free(state);
		return BOBBIN_ENOMEM;
	}
	hash->state = state;
	return 0;
}

void sha256_update(struct sha256 *hash, const void *data, size_t len)
{
	if (len)
		EVP_DigestUpdate(hash->state, data, len);
}

void sha256_final(struct sha256 *hash, uint8_t ret_digest[SHA256_BYTES])
{
	EVP_DigestFinal_ex(hash->state, ret_digest, NULL);
	sha256_release(hash);
}

void sha256_release(struct sha256 *hash)
{
	EVP_MD_CTX_free(hash->state);
	hash->state = NULL;
}

int sha256_of(const void *data, size_t len, uint8_t ret_digest[SHA256_BYTES])
{
	struct sha256 hash;
	int rc = sha256_init(&hash);
	if (rc)
		return rc;
	sha256_update(&hash, data, len);
	sha256_final(&hash, ret_digest);
	return 0;
}

void hex_encode(const uint8_t *bytes, size_t len, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < len; i++) {
		ret_text[2 * i] = digits[bytes[i] >> 4];
		ret_text[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_text[2 * len] = '\0';
}

__extension__ typedef unsigned __int128 product128;

/* Odd numbers with half of their bits set: the fractions of the square roots of 2, 3, 5 and 7. */
#define SALT_A UINT64_C(0x6a09e667f3bcc909)
#define SALT_B UINT64_C(0xbb67ae8584caa73b)
#define SALT_C UINT64_C(0x3c6ef372fe94f82b)
#define SALT_D UINT64_C(0xa54ff53a5f1d36f1)

static inline uint64_t fold(uint64_t a, uint64_t b)
{
	product128 product = (product128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Up to 16 bytes as two words, each byte in at least one of them. */
static inline void read_short(const uint8_t *bytes, size_t len, uint64_t *ret_a, uint64_t *ret_b)
{
	*ret_a = *ret_b = 0;
	if (len >= 8) {
		*ret_a = read_u64(bytes);
		*ret_b = read_u64(bytes + len - 8);
	} else if (len >= 4) {
		*ret_a = read_u32(bytes);
		*ret_b = read_u32(bytes + len - 4);
	} else if (len > 0) {
		*ret_a = (uint64_t)bytes[0] << 16 | (uint64_t)bytes[len / 2] << 8 | bytes[len - 1];
	}
}

uint64_t hash_bytes(const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint64_t first = SALT_A ^ len, second = SALT_B, a, b;
	size_t left = len;
	for (; left > 32; bytes += 32, left -= 32) {
		first = fold(read_u64(bytes) ^ SALT_C, read_u64(bytes + 8) ^ first);
		second = fold(read_u64(bytes + 16) ^ SALT_D, read_u64(bytes + 24) ^ second);
	}
	if (left > 16) {
		first = fold(read_u64(bytes) ^ SALT_C, read_u64(bytes + 8) ^ first);
		bytes += left - 16;
		left = 16;
	}
	read_short(bytes, left, &a, &b);
	return fold(fold(a ^ SALT_D, b ^ first ^ SALT_B) ^ SALT_A, second ^ SALT_C ^ len);
}
