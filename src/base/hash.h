/* SPDX-License-Identifier: MIT */
/* CRC-32C (Castagnoli; the hardware's instruction where there is one) and SHA-256 (libcrypto). */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Continues from `crc` (0 to begin). crc32c(0, "123456789", 9) == 0xe3069283. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);
/* The same without the instruction: what crc32c() is where the processor has none, its check elsewhere. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t len);

#define SHA256_BYTES 32
#define SHA256_HEX_BYTES 65 /* with NUL */

struct sha256 {
	void *state; /* an EVP_MD_CTX */
};

/* 0 or BOBBIN_ENOMEM. Every sha256_init is ended by exactly one sha256_final or sha256_release. */
int sha256_init(struct sha256 *hash);
void sha256_update(struct sha256 *hash, const void *data, size_t len);
void sha256_final(struct sha256 *hash, uint8_t ret_digest[SHA256_BYTES]);
void sha256_release(struct sha256 *hash);

/* One call for bytes in one piece. 0 or BOBBIN_ENOMEM. */
int sha256_of(const void *data, size_t len, uint8_t ret_digest[SHA256_BYTES]);

void hex_encode(const uint8_t *bytes, size_t len, char *ret_text); /* 2 * len + 1 bytes, lower case */

/* A fast 64-bit hash for tables in memory; its values are never stored, and differ between byte orders. */
uint64_t hash_bytes(const void *data, size_t len);

#endif
