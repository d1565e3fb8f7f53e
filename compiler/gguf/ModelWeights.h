//===- ModelWeights.h - The tensors of a GGUF file ------------------------===//

#ifndef FRIT_COMPILER_GGUF_MODELWEIGHTS_H
#define FRIT_COMPILER_GGUF_MODELWEIGHTS_H

#include "compiler/decoder/Config.h"
#include "compiler/decoder/Weights.h"
#include "compiler/gguf/SplitFiles.h"
#include "dialects/nn/operators/Quantized.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace frit::gguf {

/// Tensors of f32, f16 and bf16 stay mapped. Matrices of few bits become codes
/// if 16-bit numbers are asked for, else numbers, once for all functions.
class ModelWeights final : public decoder::DecoderWeights {
public:
  /// `buffers` has the bytes of `file`. `config` must outlive the result.
  ModelWeights(std::shared_ptr<Buffers> buffers, GgufFile file,
               const decoder::DecoderConfig &config, mlir::Location loc)
      : buffers(std::move(buffers)), file(std::move(file)), config(config),
        loc(loc) {}

  mlir::Value build(nn::NNBuilder &b, const decoder::TensorId &id,
                    llvm::ArrayRef<int64_t> shape, mlir::Type element) override;
  llvm::LogicalResult checkAllRead() override;

private:
  const GgufTensor *find(const decoder::TensorId &id,
                         llvm::ArrayRef<int64_t> shape);
  mlir::ElementsAttr elementsOf(const GgufTensor &tensor,
                                const decoder::TensorId &id,
                                llvm::ArrayRef<int64_t> shape,
                                mlir::Type element) const;

  /// A matrix as nn.dequantize has it.
  struct Codes {
    nn::Code code;
    mlir::ElementsAttr codes, scales, offsets; ///< offsets may be null
  };
  Codes codesOf(const GgufTensor &tensor, const decoder::TensorId &id,
                llvm::ArrayRef<int64_t> shape, mlir::Type element) const;
  mlir::Value buildCodes(nn::NNBuilder &b, mlir::Location own,
                         const GgufTensor &tensor, const decoder::TensorId &id,
                         llvm::ArrayRef<int64_t> shape, mlir::Type element);

  std::shared_ptr<Buffers> buffers;
  GgufFile file;
  const decoder::DecoderConfig &config;
  mlir::Location loc;
  llvm::StringMap<mlir::ElementsAttr> made; ///< by name and element type
  llvm::StringMap<Codes> madeCodes;         ///< by name
  llvm::StringSet<> read;
};

} // namespace frit::gguf

#endif // FRIT_COMPILER_GGUF_MODELWEIGHTS_H
