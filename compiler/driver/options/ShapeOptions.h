//===- ShapeOptions.h - -fshape -------------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_SHAPEOPTIONS_H
#define FRIT_COMPILER_DRIVER_OPTIONS_SHAPEOPTIONS_H

#include "compiler/import/Import.h"
#include "compiler/padding/SymbolSizes.h"

namespace frit {

/// Reads the sizes of a symbol, `batch=8`, `batch=1..64` or `batch=1,8,64`, or
/// an input's shape, `input:1x3` or `1x3` of the only input, in which a size
/// may be several too. False where it is none of these.
bool parseShape(llvm::StringRef spec, ImportOptions &import,
                std::vector<SymbolSizes> &openSymbols);

/// How many variants the sizes of the symbols ask for.
int64_t countVariants(llvm::ArrayRef<SymbolSizes> openSymbols);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_SHAPEOPTIONS_H
