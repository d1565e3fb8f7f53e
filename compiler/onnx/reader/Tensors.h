//===- Tensors.h - Read ONNX tensors --------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_TENSORS_H
#define FRIT_COMPILER_ONNX_READER_TENSORS_H

#include "compiler/import/Elements.h"
#include "compiler/import/Import.h"
#include "compiler/onnx/onnx.pb.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>

namespace frit::importer {

inline llvm::StringRef text(const std::string &s) { return s; }

/// Returns the element type of an ONNX `data_type`, or null if unsupported.
mlir::Type elementType(int64_t dataType, mlir::MLIRContext &context);

/// Names a data type: "INT4", or "data type 77".
std::string dataTypeName(int64_t dataType);

/// Reads the tensors of one model, which may have external data.
class TensorReader {
public:
  TensorReader(std::shared_ptr<const void> owner, llvm::StringRef modelPath,
               const ImportOptions &options, mlir::MLIRContext &context)
      : owner(std::move(owner)), modelPath(modelPath), options(options),
        context(context) {}

  /// Reads a tensor; null after an error at `loc`.
  mlir::ElementsAttr read(const ::onnx::TensorProto &tensor,
                          mlir::Location loc);

  /// Reads a .npy file or a file with a TensorProto.
  mlir::ElementsAttr readFile(llvm::StringRef file, llvm::StringRef name,
                              mlir::Location loc);

private:
  mlir::ElementsAttr readOwn(const ::onnx::TensorProto &tensor,
                             mlir::Location loc);
  std::optional<Bytes> external(const ::onnx::TensorProto &tensor, int64_t size,
                                mlir::Type element, mlir::Location loc);
  Bytes random(const ::onnx::TensorProto &tensor, int64_t count,
               mlir::Type element);

  /// Reports that a tensor has `bytes` bytes of data instead of `size`.
  static void reportSize(uint64_t bytes, const ::onnx::TensorProto &tensor,
                         mlir::Type element, int64_t size, mlir::Location loc);

  /// Maps a file of external data; null if it is missing.
  std::shared_ptr<llvm::MemoryBuffer> open(llvm::StringRef location,
                                           mlir::Location loc);

  std::shared_ptr<const void> owner;
  std::string modelPath;
  const ImportOptions &options;
  mlir::MLIRContext &context;
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> files;
};

/// Reads a .npy file, or reports what is wrong with it.
mlir::ElementsAttr readNumpy(std::shared_ptr<llvm::MemoryBuffer> file,
                             llvm::StringRef name, mlir::Location loc);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_TENSORS_H
