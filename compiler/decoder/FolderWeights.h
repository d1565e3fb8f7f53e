//===- FolderWeights.h - The safetensors files of a folder ----------------===//

#ifndef FRIT_COMPILER_DECODER_FOLDERWEIGHTS_H
#define FRIT_COMPILER_DECODER_FOLDERWEIGHTS_H

#include "compiler/decoder/Config.h"
#include "compiler/decoder/Weights.h"
#include "compiler/decoder/quantized/ReadCodes.h"
#include "compiler/import/Import.h"

namespace frit::decoder {

/// Returns the path of a file in a folder.
std::string pathIn(llvm::StringRef folder, llvm::StringRef name);

/// Tensors of model.safetensors, or of the files that
/// model.safetensors.index.json lists. They stay mapped. Quantised matrices
/// become nn.dequantize.
class FolderWeights final : public DecoderWeights {
public:
  /// Opens the files of `folder`. Null after an error. `config` must outlive
  /// the result. The callbacks of `options` are called with each file.
  static std::unique_ptr<FolderWeights>
  open(llvm::StringRef folder, const DecoderConfig &config, Scheme scheme,
       const ImportOptions &options, mlir::MLIRContext &context);

  mlir::Value build(nn::NNBuilder &b, const TensorId &id,
                    llvm::ArrayRef<int64_t> shape, mlir::Type element) override;
  mlir::ElementsAttr inputOrder(const TensorId &id) const override;
  llvm::LogicalResult checkAllRead() override;

  /// Returns the element type of the embedding; f32 if there is none.
  mlir::Type embeddingType() const;

  /// Returns whether the files have a tensor.
  bool has(const TensorId &id) const {
    return tensors.contains(nameOf(id)) || hasCodes(tensors, moduleOf(id));
  }

  /// Returns whether the files have the embedding and a head that differs.
  bool hasOtherHead() const;

private:
  FolderWeights(llvm::StringRef folder, const DecoderConfig &config,
                Scheme scheme, mlir::MLIRContext &context)
      : folder(folder), config(config), scheme(std::move(scheme)),
        context(context), tensors(folder, context) {}

  bool openFile(llvm::StringRef name, const ImportOptions &options);
  bool openIndex(llvm::StringRef index, const ImportOptions &options);
  std::string moduleOf(const TensorId &id) const;
  std::string nameOf(const TensorId &id) const;
  mlir::Location locationOf(llvm::StringRef weight,
                            llvm::StringRef stored) const;
  mlir::Value buildCodes(nn::NNBuilder &b, const TensorId &id,
                         llvm::ArrayRef<int64_t> shape, mlir::Type element);

  std::string folder;
  const DecoderConfig &config;
  Scheme scheme;
  mlir::MLIRContext &context;
  std::string prefix; ///< of the names of all tensors but the head
  StoredTensors tensors;
  llvm::StringMap<CodedMatrix> coded; ///< by module
};

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_FOLDERWEIGHTS_H
