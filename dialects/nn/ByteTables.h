//===- ByteTables.h - A target's choice to tabulate functions -------------===//

#ifndef FRIT_DIALECTS_NN_BYTETABLES_H
#define FRIT_DIALECTS_NN_BYTETABLES_H

namespace frit {

/// The rewrite of the pass `byte-tables`: reading a table of 256 bytes takes
/// less time on the target than to compute several operators.
struct ByteTablesRewrite {};

} // namespace frit

#endif // FRIT_DIALECTS_NN_BYTETABLES_H
