/* SPDX-License-Identifier: MIT */
/*
 * What a request costs beside its texts: the tokens of the frame that a chat template puts around messages
 * and calls. Providers publish the frame of the older chat models only, so the others get the same numbers
 * rounded up; usage reports correct the sum (counter.h). All frames are counted here and nowhere else.
 */
#ifndef TOKENS_OVERHEAD_H
#define TOKENS_OVERHEAD_H

/* <|im_start|>, the role, <|im_sep|> and <|im_end|>: 3 and one for the role. */
#define OVERHEAD_MESSAGE 4
/* The reply is primed with <|im_start|>assistant<|im_sep|>. */
#define OVERHEAD_REQUEST 3
/* A call's name and arguments stand in a frame with an id. No provider publishes it: an id alone is about 8
 * tokens. */
#define OVERHEAD_CALL 12
/* A result names the call that it answers; it is not published either. */
#define OVERHEAD_RESULT 8
/* A tool's name, description and schema are rendered as a declaration: 7 tokens beside their text with
 * OpenAI. */
#define OVERHEAD_TOOL 8
/* A request with any tool has a header for them: 12 with OpenAI; Anthropic publishes 346 for its tool-use
 * prompt. */
#define OVERHEAD_TOOLS_OPENAI 12
#define OVERHEAD_TOOLS_ANTHROPIC 346

#endif
