/* SPDX-License-Identifier: MIT */
/* Where a model of a provider is reached: its specification, the base address and the key. */
#ifndef MODEL_ADDRESS_H
#define MODEL_ADDRESS_H

#include "model/model.h"

#define ADDRESS_HEADERS 3 /* at most, with the NULL at the end */

struct address {
	enum model_dialect dialect;
	const char *provider; /* "openai", "anthropic" */
	const char *key_name; /* the variable its key comes from */
	char *name;	      /* of the model */
	char *url;	      /* of the whole endpoint */
	char *host;	      /* with its port, for words */
	char *key;	      /* NULL: none */
	bool withheld;	      /* there is a key, and it must not travel in the clear */
	char *headers[ADDRESS_HEADERS];
};

/* True for the providers known here: "openai:…", "openai-responses:…", "anthropic:…". */
bool address_is(const char *specification);

/*
 * The base address is what follows '@' in the specification, else BOBBIN_BASE_URL, else the provider's own;
 * a base without a path gets "/v1". The key comes from OPENAI_API_KEY or ANTHROPIC_API_KEY; the provider's
 * own address needs one. BOBBIN_EINVAL or BOBBIN_ENOMEM; release in all cases.
 */
int address_read(const char *specification, struct address *ret_address, struct bobbin_error *error);
void address_release(struct address *address);

#endif
