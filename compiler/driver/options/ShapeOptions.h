//===- ShapeOptions.h - -fshape -------------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_SHAPEOPTIONS_H
#define FRIT_COMPILER_DRIVER_OPTIONS_SHAPEOPTIONS_H

#include "compiler/import/Import.h"
#include "compiler/padding/SymbolSizes.h"

namespace frit {

/// Reads the sizes of a symbol (`batch=8`, `batch=1..64`, `batch=1,8,64`, or
/// `height=64..512/32` for multiples of 32), or the shape of an input
/// (`input:1x3`) or of the only input (`1x3`), in which each size may be a list
/// or range too. False if it is none of these.
bool parseShape(llvm::StringRef spec, ImportOptions &import,
                std::vector<SymbolSizes> &openSymbols);

/// Returns the number of variants for the symbols' sizes.
int64_t countVariants(llvm::ArrayRef<SymbolSizes> openSymbols);

/// Returns -fshape options that serve the same sizes by at most kMostVariants
/// variants. Empty if there are none.
std::string suggestSizes(std::vector<SymbolSizes> openSymbols);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_SHAPEOPTIONS_H
