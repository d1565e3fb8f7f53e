//===- AttentionSizes.h - Tiles of attention to ranges --------------------===//

#ifndef FRIT_CODEGEN_CPU_ATTENTION_ATTENTIONSIZES_H
#define FRIT_CODEGEN_CPU_ATTENTION_ATTENTIONSIZES_H

#include "codegen/cpu/Vectors.h"
#include "dialects/nn/StridedView.h"

namespace frit::cpu {

/// Sizes of a kernel of createRangedAttention().
struct AttentionSizes {
  AttentionSizes(const nn::AttentionInfo &info, Vectors vectors);

  int64_t lanes;
  int64_t sharing;     ///< heads that share keys
  int64_t rows;        ///< queries of these heads
  int64_t keys;        ///< scores of a row in memory
  int64_t tileRows;    ///< rows whose scores are in registers
  int64_t tileKeys;    ///< keys of these
  int64_t tileVectors; ///< vectors of a result's row in registers
  int64_t itemRows, itemsPerGroup;
};

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_ATTENTION_ATTENTIONSIZES_H
