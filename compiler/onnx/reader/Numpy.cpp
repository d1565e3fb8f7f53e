//===- Numpy.cpp - Read .npy files ----------------------------------------===//
//
// Format (NumPy enhancement proposal 1): magic, version, size of the header,
// and the header, a Python dictionary as text.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/reader/Tensors.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Endian.h"

#include <algorithm>

using namespace mlir;
using namespace frit::importer;

/// Returns the text of `key`'s value, trimmed.
static StringRef entry(StringRef header, StringRef key) {
  size_t at = header.find(("'" + key + "':").str());
  if (at == StringRef::npos)
    return {};
  StringRef rest = header.substr(at + key.size() + 3).ltrim();
  if (rest.consume_front("("))
    return rest.take_until([](char c) { return c == ')'; });
  return rest.take_until([](char c) { return c == ',' || c == '}'; }).rtrim();
}

/// Returns the type in `descr` after the byte order, as in '<f4'.
static Type numpyType(StringRef descr, MLIRContext *context) {
  Builder b(context);
  auto natural = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  return llvm::StringSwitch<Type>(descr.trim('\'').substr(1))
      .Case("f4", b.getF32Type())
      .Case("f8", b.getF64Type())
      .Case("f2", b.getF16Type())
      .Case("b1", b.getI1Type())
      .Case("i1", b.getI8Type())
      .Case("i2", b.getIntegerType(16))
      .Case("i4", b.getI32Type())
      .Case("i8", b.getI64Type())
      .Case("u1", natural(8))
      .Case("u2", natural(16))
      .Case("u4", natural(32))
      .Case("u8", natural(64))
      .Default({});
}

/// Reverses the byte order of elements of `size` bytes.
static void swapBytes(MutableArrayRef<char> data, size_t size) {
  for (; !data.empty(); data = data.drop_front(size))
    std::reverse(data.begin(), data.begin() + size);
}

/// Copies column-major elements of `size` bytes to row-major order.
static std::vector<char> toRowMajor(ArrayRef<char> data,
                                    ArrayRef<int64_t> shape, size_t size) {
  std::vector<char> rows(data.size());
  SmallVector<int64_t> strides(shape.size(), size), place(shape.size(), 0);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  int64_t to = 0;
  for (; !data.empty(); data = data.drop_front(size)) {
    llvm::copy(data.take_front(size), rows.begin() + to);
    // The first dimension varies fastest.
    for (auto [dim, length] : llvm::enumerate(shape)) {
      to += strides[dim];
      if (++place[dim] < length)
        break;
      to -= strides[dim] * length;
      place[dim] = 0;
    }
  }
  return rows;
}

ElementsAttr frit::importer::readNumpy(std::shared_ptr<llvm::MemoryBuffer> file,
                                       StringRef name, Location loc) {
  auto wrong = [&](const Twine &what) -> ElementsAttr {
    emitError(loc) << "'" << file->getBufferIdentifier() << "' " << what;
    return {};
  };
  StringRef data = file->getBuffer();
  if (data.size() < 12)
    return wrong("is too short for an .npy file");
  bool isOld = data[6] == 1;
  size_t start = isOld ? 10 : 12;
  size_t size = isOld ? llvm::support::endian::read16le(data.data() + 8)
                      : llvm::support::endian::read32le(data.data() + 8);
  if (size > data.size() - start)
    return wrong("is too short for its header");
  StringRef header = data.substr(start, size);
  data = data.substr(start + size);

  StringRef descr = entry(header, "descr");
  Type element = numpyType(descr, loc.getContext());
  if (!element)
    return wrong("has elements of type " + descr + ", which is not supported");
  SmallVector<int64_t> shape;
  for (StringRef part : llvm::split(entry(header, "shape"), ',')) {
    part = part.trim();
    if (!part.empty() && part.getAsInteger(10, shape.emplace_back()))
      return wrong("has no valid shape");
  }
  std::optional<int64_t> count = countElements(shape);
  if (!count)
    return wrong("has no valid shape");
  size_t expected = *count * elementBytes(element);
  if (data.size() != expected)
    return wrong("has " + Twine(data.size()) +
                 " bytes of data, but its shape takes " + Twine(expected));
  Bytes bytes{ArrayRef(data.data(), data.size()), file};
  bool isColumnMajor = entry(header, "fortran_order") == "True";
  bool isBigEndian = descr.starts_with("'>");
  if (isColumnMajor || isBigEndian) {
    size_t width = elementBytes(element);
    auto ordered = std::make_shared<std::vector<char>>(
        isColumnMajor ? toRowMajor(bytes.data, shape, width)
                      : bytes.data.vec());
    if (isBigEndian)
      swapBytes(*ordered, width);
    bytes = {*ordered, ordered};
  }
  return makeElements(RankedTensorType::get(shape, element), std::move(bytes),
                      name);
}
