/*===- roles.h - What functions and state tensors are for -----------------===*\
|* A part of frit/runtime.h. Programs find functions and state by role, since *|
|* names are the model's.                                                     *|
\*===----------------------------------------------------------------------===*/

#ifndef FRIT_ROLES_H
#define FRIT_ROLES_H

#ifdef __cplusplus
extern "C" {
#endif

/** What a function computes. */
typedef enum frit_function_role {
  FRIT_FUNCTION_INFERENCE = 0,  /**< the model's results */
  FRIT_FUNCTION_TRAIN_STEP = 1, /**< loss and gradients; updates the state */
  FRIT_FUNCTION_EVAL_STEP = 2,  /**< loss and results; the state stays */
  /** Extends sequences by given tokens. Inputs: tokens, i32 of batch × chunk,
      and how many of them count, i32 of batch. Output: logits, f32 of
      batch × vocabulary, after the last token that counts. */
  FRIT_FUNCTION_PREFILL = 3,
  /** Extends sequences by the token that the last call chose. No inputs.
      Output: logits as of prefill. */
  FRIT_FUNCTION_DECODE = 4,
  /** Extends sequences by given tokens as long as the model would have chosen
      them. Inputs as of prefill: the token that was chosen last, and guesses of
      those after it. The first stays, and each guess that is the likeliest
      token after the one before it, up to the first that is not. Outputs:
      logits, f32 of batch × chunk × vocabulary, and the likeliest token, i32 of
      batch × chunk, after each token; those after a wrong guess mean
      nothing. */
  FRIT_FUNCTION_VERIFY = 5,
  /** Reads the source that sequences are made from, which prefill and decode
      attend to. Inputs: tokens, i32 of batch × places, and how many of them
      count, i32 of batch; or of a sound its log-mel spectrum, f32 of
      batch × bins × frames. Output: what the encoder makes of it, f32 of
      batch × places × width. */
  FRIT_FUNCTION_ENCODE = 6
} frit_function_role;

/** What a state tensor is. */
typedef enum frit_state_role {
  FRIT_STATE_OTHER = 0,
  FRIT_STATE_PARAMETER = 1,      /**< a weight that trains */
  FRIT_STATE_OPTIMIZER = 2,      /**< a moment or momentum of a parameter */
  FRIT_STATE_STATISTIC = 3,      /**< a running mean or variance */
  FRIT_STATE_LEARNING_RATE = 4,  /**< f32 scalar */
  FRIT_STATE_LOSS_SCALE = 5,     /**< f32 scalar */
  FRIT_STATE_COUNTER = 6,        /**< scalar that counts calls or steps */
  FRIT_STATE_RANDOM_SEED = 7,    /**< i64 scalar: key of random numbers */
  FRIT_STATE_RANDOM_COUNTER = 8, /**< i64 scalar: calls that drew from it */
  FRIT_STATE_CACHE = 9,          /**< keys or values of the tokens so far */
  FRIT_STATE_LENGTH = 10,        /**< i32 of batch: tokens in the caches */
  /** i32 of batch × (capacity + 1): the tokens in the caches and, after them,
      the next one. */
  FRIT_STATE_TOKENS = 11,
  /** A matrix of an adapter of low rank; zeros: none. */
  FRIT_STATE_ADAPTER = 12,
  FRIT_STATE_SOURCE = 13, /**< keys or values of the source */
  /** i32 of batch: places of the source that count; a sound has none. */
  FRIT_STATE_SOURCE_LENGTH = 14
} frit_state_role;

#ifdef __cplusplus
}
#endif

#endif /* FRIT_ROLES_H */
