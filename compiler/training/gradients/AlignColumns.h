//===- AlignColumns.h - Align the columns of products ---------------------===//

#ifndef FRIT_COMPILER_TRAINING_GRADIENTS_ALIGNCOLUMNS_H
#define FRIT_COMPILER_TRAINING_GRADIENTS_ALIGNCOLUMNS_H

#include <cstdint>

namespace frit {

/// With fewer columns, the additional ones would cost too much.
inline constexpr int64_t kFewColumns = 1000;

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_GRADIENTS_ALIGNCOLUMNS_H
