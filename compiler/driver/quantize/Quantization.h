//===- Quantization.h - Quantize a model by data --------------------------===//
//
// -fquantize: the ranges of products' inputs are measured by running the model
// in f32 over data on this machine's processor. Then each product alone is
// quantized, and the error of the model's results is measured; the worst stay
// wide until the error of all together is as small as asked for. Or a table of
// scales says it all, and nothing is run. Products of matrices in 8-bit floats
// need neither: each row of an input has a scale that is found in each call.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_QUANTIZE_QUANTIZATION_H
#define FRIT_COMPILER_DRIVER_QUANTIZE_QUANTIZATION_H

#include "compiler/driver/options/Options.h"
#include "compiler/driver/quantize/SampleRunner.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace frit {

/// Quantizes the variants of a model as `options` say. Data are for calls of
/// the first variant; with them, writes the table of scales that the options
/// name, if any. `tell` gets lines for the user. An error without a text has
/// been reported.
llvm::Error
quantizeModel(llvm::MutableArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> variants,
              const QuantizationOptions &options, SampleRunner &runner,
              llvm::function_ref<void(const llvm::Twine &)> tell);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_QUANTIZE_QUANTIZATION_H
