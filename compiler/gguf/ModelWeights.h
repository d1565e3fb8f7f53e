//===- ModelWeights.h - The tensors of a GGUF file ------------------------===//

#ifndef FRIT_COMPILER_GGUF_MODELWEIGHTS_H
#define FRIT_COMPILER_GGUF_MODELWEIGHTS_H

#include "compiler/decoder/Config.h"
#include "compiler/decoder/Weights.h"
#include "compiler/support/Gguf.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

namespace frit::gguf {

/// Tensors of f32, f16 and bf16 stay mapped; those of few bits become numbers
/// of the type that is asked for, once for all functions.
class ModelWeights final : public decoder::DecoderWeights {
public:
  /// `config` must outlive the result.
  ModelWeights(std::shared_ptr<llvm::MemoryBuffer> buffer, GgufFile file,
               const decoder::DecoderConfig &config, mlir::Location loc)
      : buffer(std::move(buffer)), file(std::move(file)), config(config),
        loc(loc) {}

  mlir::Value build(nn::NNBuilder &b, const decoder::TensorId &id,
                    llvm::ArrayRef<int64_t> shape, mlir::Type element) override;
  llvm::LogicalResult checkAllRead() override;
  int64_t bytes() const override;

private:
  const GgufTensor *find(const decoder::TensorId &id,
                         llvm::ArrayRef<int64_t> shape);
  mlir::ElementsAttr elementsOf(const GgufTensor &tensor,
                                const decoder::TensorId &id,
                                llvm::ArrayRef<int64_t> shape,
                                mlir::Type element) const;

  std::shared_ptr<llvm::MemoryBuffer> buffer;
  GgufFile file;
  const decoder::DecoderConfig &config;
  mlir::Location loc;
  llvm::StringMap<mlir::ElementsAttr> made; ///< by name and element type
  llvm::StringSet<> read;
};

} // namespace frit::gguf

#endif // FRIT_COMPILER_GGUF_MODELWEIGHTS_H
