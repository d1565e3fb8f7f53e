//===- Import.cpp - ONNX models to the nn dialect -------------------------===//

#include "compiler/import/Import.h"

#include "compiler/onnx/ModelTensors.h"
#include "compiler/onnx/reader/Importer.h"
#include "compiler/onnx/reader/RawData.h"

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <climits>

using namespace mlir;
using namespace frit;

void frit::loadImportDialects(MLIRContext &context) {
  // Folding evaluates bodies in arith and math. Propagate.cpp finds valid
  // entries by the loops of operators, in linalg.
  context.loadDialect<nn::NNDialect, func::FuncDialect, arith::ArithDialect,
                      math::MathDialect, linalg::LinalgDialect,
                      tensor::TensorDialect>();
}

/// Scans the fields of a message. Returns the number of bytes that the file
/// lacks for the last one, 0 if complete, or none if these are no fields.
static std::optional<uint64_t> missingBytes(StringRef data) {
  while (!data.empty()) {
    auto tag = importer::takeVarint(data);
    if (!tag)
      return 1;
    // The largest field of a model, its graph, has number 7.
    constexpr uint64_t mostFields = 64;
    if (*tag >> 3 == 0 || *tag >> 3 > mostFields)
      return std::nullopt;
    std::optional<uint64_t> size;
    switch (*tag & 7) {
    case 0:
      if (!importer::takeVarint(data))
        return 1;
      continue;
    case 1:
      size = 8;
      break;
    case 2:
      size = importer::takeVarint(data);
      if (!size)
        return 1;
      break;
    case 5:
      size = 4;
      break;
    default:
      return std::nullopt;
    }
    if (*size > data.size())
      return *size - data.size();
    data = data.drop_front(*size);
  }
  return 0;
}

/// Reports what is wrong with a file that does not parse.
static void explain(StringRef data, Location loc) {
  std::optional<uint64_t> missing;
  if ((missing = missingBytes(data)) && *missing)
    emitError(loc) << "the model is cut off: at least " << *missing
                   << " more bytes should follow the file's " << data.size();
  else
    emitError(loc) << "is not an ONNX model";
}

/// Calls `options.onFile` with each file of external data.
static void nameFiles(::onnx::ModelProto &model, StringRef path,
                      const ImportOptions &options) {
  llvm::StringSet<> locations;
  for (const ::onnx::TensorProto *tensor : findTensors(model)) {
    std::string location = externalLocation(*tensor);
    if (location.empty() || !locations.insert(location).second)
      continue;
    SmallString<256> file = llvm::sys::path::parent_path(path);
    llvm::sys::path::append(file, location);
    options.onFile(file);
  }
}

OwningOpRef<ModuleOp> frit::importOnnx(llvm::MemoryBufferRef file,
                                       StringRef path,
                                       const ImportOptions &options,
                                       MLIRContext &context) {
  Location loc = FileLineColLoc::get(&context, path, 0, 0);
  // A regular file can be mapped again for its weights; a pipe cannot.
  std::string slim;
  StringRef bytes = file.getBuffer();
  if (llvm::sys::fs::is_regular_file(path)) {
    slim = importer::leaveRawData(bytes, llvm::sys::path::filename(path));
    bytes = slim;
  }
  if (bytes.size() > INT_MAX) {
    emitError(loc) << "is larger than 2 GiB, which protobuf cannot read; keep "
                      "the weights in a separate file (external data)";
    return {};
  }
  google::protobuf::LogSilencer quiet;
  auto model = std::make_shared<::onnx::ModelProto>();
  bool parsed = model->ParseFromArray(bytes.data(), bytes.size());
  if (!parsed || !model->has_graph()) {
    explain(file.getBuffer(), loc);
    return {};
  }
  if (options.onFile)
    nameFiles(*model, path, options);
  return importer::Importer(model, path, options, context).run();
}
