//===- ExternalData.cpp - Weights in files beside the model ---------------===//

#include "compiler/import/LfsPointer.h"
#include "compiler/onnx/reader/Tensors.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;
using namespace frit::importer;
using ::onnx::TensorProto;

std::shared_ptr<llvm::MemoryBuffer> TensorReader::open(StringRef location,
                                                       Location loc) {
  auto [it, isNew] = files.try_emplace(location);
  if (!isNew)
    return it->second;
  SmallString<256> file = llvm::sys::path::parent_path(modelPath);
  llvm::sys::path::append(file, location);
  llvm::sys::fs::file_status status;
  std::error_code error = llvm::sys::fs::status(file, status);
  // Reading a pipe or a device might never end.
  if (!error && !llvm::sys::fs::is_regular_file(status))
    error = std::make_error_code(std::errc::invalid_argument);
  if (!error) {
    auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (buffer) {
      if (options.onMap)
        options.onMap(file, (*buffer)->getBuffer());
      return it->second = std::move(*buffer);
    }
    error = buffer.getError();
  }
  if (!options.randomWeights)
    emitError(loc) << "cannot read its data from '" << file
                   << "': " << error.message()
                   << "; -frandom-weights=SEED makes up what is missing";
  return nullptr;
}

/// Maximum bytes of random weights; they are held in memory.
static constexpr int64_t kMostRandomBytes = int64_t(1) << 34;

std::optional<Bytes> TensorReader::external(const TensorProto &tensor,
                                            int64_t size, Type element,
                                            Location loc) {
  StringRef location, offsetText = "0", lengthText;
  for (const auto &entry : tensor.external_data()) {
    if (entry.key() == "location")
      location = entry.value();
    else if (entry.key() == "offset")
      offsetText = entry.value();
    else if (entry.key() == "length")
      lengthText = entry.value();
  }
  if (location.empty()) {
    emitError(loc) << "is external data without a location";
    return std::nullopt;
  }
  // Calls of the system would take what stands before a NUL.
  if (location.contains('\0')) {
    emitError(loc) << "external data at '" << location
                   << "' has a null character in its name";
    return std::nullopt;
  }
  // A model must not read files outside of its folder.
  bool escapes = llvm::sys::path::is_absolute(location);
  for (auto part = llvm::sys::path::begin(location);
       part != llvm::sys::path::end(location); ++part)
    escapes |= *part == "..";
  if (escapes) {
    emitError(loc) << "external data at '" << location
                   << "' is outside of the model's folder";
    return std::nullopt;
  }
  uint64_t offset, length = size;
  if (offsetText.getAsInteger(10, offset) ||
      (!lengthText.empty() && lengthText.getAsInteger(10, length))) {
    emitError(loc) << "offset and length of external data, '" << offsetText
                   << "' and '" << lengthText << "', are not numbers";
    return std::nullopt;
  }
  if (length != static_cast<uint64_t>(size)) {
    reportSize(length, tensor, element, size, loc);
    return std::nullopt;
  }
  auto buffer = open(location, loc);
  if (!buffer) {
    if (options.randomWeights && size > kMostRandomBytes) {
      emitError(loc) << "its " << size << " bytes are too many to make up";
      return std::nullopt;
    }
    if (options.randomWeights)
      return random(tensor, size / elementBytes(element), element);
    return std::nullopt;
  }
  if (isLfsPointer(buffer->getBuffer())) {
    emitError(loc) << "its file '" << location << "' " << kLfsPointer;
    return std::nullopt;
  }
  if (offset > buffer->getBufferSize() ||
      length > buffer->getBufferSize() - offset) {
    emitError(loc) << "its data ends at byte " << offset + length << " of '"
                   << location << "', which has only "
                   << buffer->getBufferSize();
    return std::nullopt;
  }
  return Bytes{ArrayRef(buffer->getBufferStart() + offset, length), buffer};
}

/// Rounds a value to a type of 64 bits at most; returns its bits.
static uint64_t roundedBits(double value, const llvm::fltSemantics &semantics) {
  APFloat x(value);
  bool inexact;
  x.convert(semantics, APFloat::rmNearestTiesToEven, &inexact);
  return x.bitcastToAPInt().getZExtValue();
}

/// Generates uniform values as initializers do, so that activations keep their
/// magnitude: within ±sqrt(3 / fan-in) for matrices and filters, around 1 for
/// vectors that may be scales or variances. Uses SplitMix64 (Steele, Lea and
/// Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014), about
/// a gigabyte per second. Types other than f32 are slow to round to; their
/// elements are drawn from 4096 rounded values.
Bytes TensorReader::random(const TensorProto &tensor, int64_t count,
                           Type element) {
  if (options.onRandom)
    options.onRandom(tensor.name());
  auto owned = std::make_shared<std::vector<char>>(
      static_cast<size_t>(count * elementBytes(element)));
  auto type = dyn_cast<FloatType>(element);
  if (!type)
    return {*owned, owned};
  uint64_t state = *options.randomWeights + llvm::xxh3_64bits(tensor.name());
  auto draw = [&] {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  };
  double inner = tensor.dims_size() > 1 && tensor.dims(0)
                     ? static_cast<double>(count) / tensor.dims(0)
                     : 0;
  double bound = inner ? std::sqrt(3 / inner) : 0.5, middle = inner ? 0 : 1;
  auto scaled = [&](double unit) { return middle + bound * (2 * unit - 1); };
  char *out = owned->data();
  if (type.isF32()) {
    for (int64_t i = 0; i < count; ++i, out += sizeof(float)) {
      auto value = static_cast<float>(
          scaled(static_cast<double>(draw() >> 11) * 0x1p-53));
      std::memcpy(out, &value, sizeof(value));
    }
    return {*owned, owned};
  }
  constexpr int tableBits = 12, tableSize = 1 << tableBits;
  auto drawRounded = [&](auto zero) {
    std::vector<decltype(zero)> table(tableSize);
    for (int i = 0; i < tableSize; ++i)
      table[i] =
          roundedBits(scaled((i + 0.5) / tableSize), type.getFloatSemantics());
    for (int64_t i = 0; i < count; ++i, out += sizeof(zero))
      std::memcpy(out, &table[draw() >> (64 - tableBits)], sizeof(zero));
  };
  switch (elementBytes(element)) {
  case 1:
    drawRounded(uint8_t(0));
    break;
  case 2:
    drawRounded(uint16_t(0));
    break;
  default:
    drawRounded(uint64_t(0));
  }
  return {*owned, owned};
}
