//===- Knowledge.cpp - Read a model and learn its values' types -----------===//

#include "tools/frit-reduce/Model.h"

#include "compiler/import/Import.h"
#include "compiler/onnx/ModelTensors.h"
#include "compiler/onnx/reader/Tensors.h"
#include "compiler/support/InputFile.h"
#include "compiler/support/OutputFile.h"
#include "dialects/nn/Fold.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <climits>

using namespace frit;
using namespace frit::reduce;
using llvm::StringRef;

static llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static StringRef externalField(const onnx::TensorProto &tensor, StringRef key) {
  for (const onnx::StringStringEntryProto &entry : tensor.external_data())
    if (entry.key() == key)
      return entry.value();
  return "";
}

/// Loads a tensor's external data into the model, because reduced models are
/// written to another folder.
static llvm::Error takeIn(onnx::TensorProto &tensor, StringRef folder,
                          uint64_t &bytes) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
    return llvm::Error::success();
  std::string what = tensor.name().empty() ? "a constant without a name: "
                                           : "weight '" + tensor.name() + "': ";
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, externalLocation(tensor));
  StringRef from = externalField(tensor, "offset");
  StringRef count = externalField(tensor, "length");
  uint64_t offset = 0, length = 0;
  if ((!from.empty() && from.getAsInteger(10, offset)) ||
      (!count.empty() && count.getAsInteger(10, length)))
    return failure(what + "its offset or length in '" + path +
                   "' is not a number");
  if (count.empty()) {
    if (std::error_code code = llvm::sys::fs::file_size(path, length))
      return failure(what + "cannot read '" + path + "': " + code.message());
    length -= std::min(length, offset);
  }
  bytes += length;
  if (bytes > INT_MAX)
    return failure("its weights have more than 2 GiB, which protobuf cannot "
                   "hold");
  if (std::error_code error = checkInput(path.str().str()))
    return failure(what + "cannot read '" + path + "': " + error.message());
  auto file = llvm::MemoryBuffer::getFileSlice(path, length, offset);
  if (!file)
    return failure(what + "cannot read '" + path +
                   "': " + file.getError().message());
  protectInput(path.str().str());
  tensor.set_raw_data((*file)->getBuffer().str());
  tensor.clear_external_data();
  tensor.clear_data_location();
  return llvm::Error::success();
}

llvm::Expected<onnx::ModelProto> frit::reduce::readModel(StringRef path) {
  if (std::error_code error = checkInput(path.str()))
    return failure(error.message());
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return failure(file.getError().message());
  protectInput(path.str());
  google::protobuf::LogSilencer quiet;
  onnx::ModelProto model;
  StringRef data = (*file)->getBuffer();
  if (data.size() > INT_MAX ||
      !model.ParseFromArray(data.data(), data.size()) || !model.has_graph())
    return failure("is not an ONNX model");
  uint64_t bytes = 0;
  for (onnx::TensorProto *tensor : findTensors(model))
    if (auto error = takeIn(*tensor, llvm::sys::path::parent_path(path), bytes))
      return error;
  return model;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Returns ONNX's number of an element type, or 0.
static int32_t dataType(mlir::Type element) {
  for (int32_t type = onnx::TensorProto::DataType_MIN;
       type <= onnx::TensorProto::DataType_MAX; ++type)
    if (importer::elementType(type, *element.getContext()) == element)
      return type;
  return 0;
}

/// Converts a small constant (a shape, for example) to ONNX.
static std::optional<onnx::TensorProto>
constantTensor(StringRef name, mlir::DenseElementsAttr value) {
  constexpr int64_t most = 64;
  mlir::Type element = value.getElementType();
  if (value.getNumElements() > most || !element.isInteger())
    return std::nullopt;
  onnx::TensorProto tensor;
  tensor.set_name(name.str());
  tensor.set_data_type(dataType(element));
  for (int64_t size : value.getType().getShape())
    tensor.add_dims(size);
  for (const llvm::APInt &number : value.getValues<llvm::APInt>()) {
    if (element.isInteger(64))
      tensor.add_int64_data(number.getSExtValue());
    else if (element.isUnsignedInteger())
      return std::nullopt;
    else
      tensor.add_int32_data(element.isInteger(1) ? number.getZExtValue()
                                                 : number.getSExtValue());
  }
  return tensor;
}

Knowledge frit::reduce::learn(const onnx::ModelProto &model, StringRef path) {
  Knowledge known;
  for (const onnx::ValueInfoProto &value : model.graph().value_info())
    known.types[value.name()] = value.type();
  for (const onnx::ValueInfoProto &value : model.graph().output())
    if (value.type().tensor_type().has_shape())
      known.types[value.name()] = value.type();

  mlir::MLIRContext context;
  loadImportDialects(context);
  // The bug under reduction may be an import failure.
  mlir::ScopedDiagnosticHandler silence(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  ImportOptions options;
  options.onValue = [&](StringRef name, mlir::Value value) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
    if (!type)
      return;
    if (auto constant = nn::constantValue(value))
      if (auto tensor = constantTensor(name, constant))
        known.constants[name] = *tensor;
    if (known.types.contains(name))
      return;
    onnx::TypeProto::Tensor &tensor = *known.types[name].mutable_tensor_type();
    tensor.set_elem_type(dataType(type.getElementType()));
    tensor.mutable_shape();
    for (int64_t size : type.getShape())
      tensor.mutable_shape()->add_dim()->set_dim_value(size);
  };
  options.onMap = [](StringRef file, StringRef) { protectInput(file.str()); };
  std::string bytes = model.SerializeAsString();
  importOnnx({bytes, path}, "", options, context);
  return known;
}
