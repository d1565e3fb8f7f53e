//===- BuildFunction.h - Functions of models that were read ---------------===//

#ifndef FRIT_TEST_FUZZ_BUILDFUNCTION_H
#define FRIT_TEST_FUZZ_BUILDFUNCTION_H

#include "compiler/decoder/Decoder.h"
#include "test/fuzz/Context.h"
#include "test/fuzz/Target.h"

#include "mlir/IR/Verifier.h"

namespace frit::fuzz {

/// Builds a function of a language model. Returns whether it was not refused;
/// reports one that is invalid, or a refusal without an error.
inline bool buildFunction(decoder::Decoder &model,
                          const decoder::DecoderSizes &sizes,
                          frit_function_role role, int64_t chunk) {
  unsigned before = errors();
  auto module =
      decoder::buildFunction(model.config, *model.weights, sizes, role, chunk);
  if (!module && errors() == before)
    broken("a model is refused only with an error");
  if (module && llvm::failed(mlir::verify(*module)))
    broken("a model that was built is valid");
  return bool(module);
}

} // namespace frit::fuzz

#endif // FRIT_TEST_FUZZ_BUILDFUNCTION_H
