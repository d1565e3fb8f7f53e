/*===- generate.h - Text by a language model ------------------------------===*\
|* Sequences of tokens that a model extends, on top of frit/runtime.h. For    *|
|* artifacts with functions of the roles prefill and decode, as fritc makes   *|
|* of a folder or a file of a language model.                                 *|
|*                                                                            *|
|*   frit_module_load("llama.so", NULL, &module);                             *|
|*   frit_session_create(module, &session);                                   *|
|*   frit_session_prefill(session, 0, prompt, 12, NULL);                      *|
|*   frit_session_decode(session, NULL, tokens, 64);                          *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_GENERATE_H
#define FRIT_GENERATE_H

#include "frit/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Caches of one or several sequences of tokens, and what runs the model on
 *  them. One thread at a time uses a session; a call beside another one fails
 *  and changes nothing. */
typedef struct frit_session frit_session;

/** How the next token is chosen. All zeros: the most likely one, or the first
 *  of several. Filters apply in this order, as in Hugging Face's transformers:
 *  repetition penalty, temperature, top_k, top_p, min_p. */
typedef struct frit_sampling {
  /** Divides the logits; 0 chooses the most likely token. */
  float temperature;
  /** Keeps that many tokens of the highest logits; 0 keeps all. */
  uint32_t top_k;
  /** Keeps the fewest tokens whose probabilities sum to at least this; 0 or 1
      keeps all. */
  float top_p;
  /** Keeps tokens of at least this fraction of the highest probability; 0 keeps
      all. */
  float min_p;
  /** Divides positive logits of tokens in the sequence, and multiplies negative
      ones (Keskar et al., arXiv:1909.05858); 0 and 1 change nothing. */
  float repetition_penalty;
  /** Equal seeds give equal tokens of equal logits. */
  uint64_t seed;
  /** Null, or f32 of the vocabulary in host memory, added to the logits first:
      -inf forbids a token, as grammars do. Read during the call. */
  const float *bias;
  /** Null, or room for an f32 for each token that a call stores, at the same
      place: its log probability by the model, which is that of the logits
      without bias, penalty and temperature. Calls that choose several tokens
      on the device choose on the host instead. frit_sample ignores it. */
  float *log_probabilities;
} frit_sampling;

/** Makes a session with empty sequences. `module` is any function of the
 *  artifact and must outlive the session. Fails if the artifact has no function
 *  of the role prefill, or states that do not fit its role. */
FRIT_API frit_status frit_session_create(frit_module *module,
                                         frit_session **session);

/** Makes a session whose sequences are those of `session` so far, with caches
 *  of its own. */
FRIT_API frit_status frit_session_fork(frit_session *session,
                                       frit_session **copy);

/** Waits for a call of another thread. Null is ignored. */
FRIT_API void frit_session_destroy(frit_session *session);

/** Return the number of sequences, the tokens that each may have, and the size
 *  of the vocabulary. */
FRIT_API uint32_t frit_session_batch(const frit_session *session);
FRIT_API uint32_t frit_session_capacity(const frit_session *session);
FRIT_API uint32_t frit_session_vocabulary(const frit_session *session);

/** Returns the number of tokens in a sequence's caches; 0 if there is no such
 *  sequence. */
FRIT_API uint32_t frit_session_length(const frit_session *session,
                                      uint32_t sequence);

/** Reads the source of all sequences of a model that has an encoder, T5 or
 *  Whisper, and forgets their tokens. `inputs` are those of the function of the
 *  role encode (frit/roles.h), by name or in order. Comes before
 *  frit_session_prefill. */
FRIT_API frit_status frit_session_encode(frit_session *session,
                                         const frit_tensor *inputs,
                                         uint32_t count);

/** Appends tokens to a sequence, after one that was chosen last; the others
 *  stay. Stores the logits after the
 *  last of them, f32 of the vocabulary in host memory, if `logits` is not null.
 *  Fails, and changes nothing, if a token is not in the vocabulary or the
 *  sequence would exceed the capacity. */
FRIT_API frit_status frit_session_prefill(frit_session *session,
                                          uint32_t sequence,
                                          const int32_t *tokens, uint32_t count,
                                          float *logits);

/** Chooses `count` tokens for every sequence, each after all earlier ones, and
 *  stores them as i32 of batch × count in host memory. The last one is chosen
 *  but not in the caches yet: the next call appends it first. Each sequence has
 *  had at least one token. If `sampling` is null or greedy, the device chooses,
 *  and the host waits only for the last token. Fails, and changes nothing, if a
 *  sequence would exceed the capacity. */
FRIT_API frit_status frit_session_decode(frit_session *session,
                                         const frit_sampling *sampling,
                                         int32_t *tokens, uint32_t count);

/** Returns how many guesses of a sequence a call of frit_session_verify takes;
 *  0 if the artifact has no function of the role verify. */
FRIT_API uint32_t frit_session_guesses(const frit_session *session);

/** Chooses tokens as frit_session_decode does, the same ones, but several at a
 *  time if the caller guesses them (Leviathan et al., arXiv:2211.17192).
 *  `guesses` are i32 of batch × width, the first `guessed[i]` of which are
 *  expected to come next in sequence i. Up to the first wrong guess they cost
 *  one call of the model together. Stores the tokens chosen for each sequence,
 *  at least 1 and at most `guessed[i]` + 1, in `tokens`, i32 of
 *  batch × (width + 1), and their numbers in `made`, one for each sequence. As
 *  after decode, the last one of each is not in the caches yet. Fails, and
 *  changes nothing, if the artifact has no function of the role verify, there
 *  are too many guesses, or the sequence would exceed the capacity if all
 *  guesses were right. */
FRIT_API frit_status frit_session_verify(frit_session *session,
                                         const frit_sampling *sampling,
                                         const int32_t *guesses,
                                         const uint32_t *guessed,
                                         uint32_t width, int32_t *tokens,
                                         uint32_t *made);

/** Guesses what follows a sequence: what followed the last few of its tokens
 *  where they occurred before (prompt lookup). Stores up to `most` guesses and
 *  returns their number. */
FRIT_API uint32_t frit_lookup(const int32_t *tokens, uint32_t count,
                              int32_t *guesses, uint32_t most);

/** Makes a session use an adapter of low rank (LoRA) in place of the one
 *  before. `tensors` are f32 in host memory with the names of the states of the
 *  role FRIT_STATE_ADAPTER: for a module of the model two matrices,
 * MODULE.lora_A of rank × inputs and MODULE.lora_B of outputs × rank; modules
 * that are not given get none, so that a count of 0 removes the adapter.
 * `scale` multiplies their products. What is in the caches stays as it was
 * computed. Fails, and changes nothing, if the model takes no adapters, or not
 * this one: it has other modules or sizes, or a higher rank. */
FRIT_API frit_status frit_session_adapt(frit_session *session,
                                        const frit_tensor *tensors,
                                        uint32_t count, float scale);

/** Forgets the tokens of a sequence from place `length` on. With a length of 0
 *  the sequence is new. The next token is chosen again when the sequence is
 *  extended. */
FRIT_API frit_status frit_session_rewind(frit_session *session,
                                         uint32_t sequence, uint32_t length);

/** Chooses a token by logits, f32 of `vocabulary`, which it changes. `tokens`
 *  are those of the sequence so far. Fails if no logit is a number. */
FRIT_API frit_status frit_sample(const frit_sampling *sampling, float *logits,
                                 uint32_t vocabulary, const int32_t *tokens,
                                 uint32_t count, int32_t *token);

#ifdef __cplusplus
}
#endif

#endif /* FRIT_GENERATE_H */
