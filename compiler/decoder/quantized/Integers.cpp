//===- Integers.cpp - Integers of GPTQ, AWQ and compressed-tensors --------===//
//
// Words have 32 bits, the first code in the lowest.
//
//   GPTQ (Frantar et al., arXiv:2210.17323), as AutoGPTQ and GPTQModel write it
//     qweight  i32, columns · bits / 32 × rows; a word has codes of columns
//     qzeros   i32, groups × rows · bits / 32
//     scales   groups × rows
//     g_idx    i32, the group of each column, in any order
//   AWQ (Lin et al., arXiv:2306.00978), of 4 bits, as AutoAWQ's "gemm"
//     qweight  i32, columns × rows / 8; codes of rows in an order of their own
//     qzeros   i32, groups × rows / 8, likewise
//     scales   groups × rows
//   compressed-tensors
//     weight_packed      i32, rows × words of columns
//     weight_zero_point  i32, words of rows × groups; or i8, rows × groups
//     weight_scale       rows × groups
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/quantized/CodeReader.h"
#include "dialects/nn/NN.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/Parallel.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

/// Rows that are written together: their words are neighbours in files.
static constexpr int64_t kRowsTogether = 64;

/// The row, of 8, of each code of a word of AWQ.
static constexpr int kAwqRows[] = {0, 2, 4, 6, 1, 3, 5, 7};

static constexpr int kInOrder[] = {0, 1, 2,  3,  4,  5,  6,  7,
                                   8, 9, 10, 11, 12, 13, 14, 15};

static uint32_t wordAt(const char *words, int64_t index) {
  return llvm::support::endian::read32le(words + 4 * index);
}

/// Calls `body` with the first and the last row but one of parts of the rows,
/// side by side.
static void forParts(int64_t rows,
                     llvm::function_ref<void(int64_t, int64_t)> body) {
  llvm::parallelFor(0, llvm::divideCeil(rows, kRowsTogether), [&](size_t part) {
    int64_t first = int64_t(part) * kRowsTogether;
    body(first, std::min(first + kRowsTogether, rows));
  });
}

//===----------------------------------------------------------------------===//
// GPTQ and AWQ
//===----------------------------------------------------------------------===//

std::optional<std::vector<int32_t>>
CodeReader::wordZeros(int64_t bits, int64_t count, ArrayRef<int> nibbles) {
  ElementsAttr value = need(".qzeros", ".qweight", {"i32"});
  int64_t each = 32 / bits;
  int64_t words = int64_t(llvm::divideCeil(rows, each));
  if (!value || !hasShape(nameOf(".qzeros"), value, {count, words}))
    return std::nullopt;
  std::vector<char> own;
  const char *from = bytesOf(value, own).data();
  // A 1 for each code. Sums are of whole words, as the programs that write and
  // read them compute it, so that a code's carry reaches the next one.
  uint32_t ones = 0;
  for (int64_t i = 0; i < each; ++i)
    ones |= 1u << i * bits;
  std::vector<int32_t> zeros(size_t(rows * count));
  for (int64_t group = 0; group < count; ++group)
    for (int64_t i = 0; i < words; ++i) {
      uint32_t word = wordAt(from, group * words + i);
      if (scheme.zerosLessOne)
        word += ones;
      for (int64_t j = 0; j < each; ++j, word >>= bits)
        if (int64_t row = i * each + nibbles[j]; row < rows)
          zeros[row * count + group] = int32_t(word & ((1u << bits) - 1));
    }
  return zeros;
}

std::optional<CodedMatrix> CodeReader::gptq() {
  std::string name = nameOf(".qweight");
  ElementsAttr value = need(".qweight", ".qweight", {"i32"});
  if (!value)
    return std::nullopt;
  Integers integers;
  integers.bits = bitsOf(name, value, [&](int64_t bits) {
    return SmallVector<int64_t>{int64_t(llvm::divideCeil(columns * bits, 32)),
                                rows};
  });
  if (!integers.bits)
    return std::nullopt;
  int64_t each = 32 / integers.bits;
  if (columns % each) {
    tensors.fail(name) << "has " << columns
                       << " columns, which are no whole words of 32 bits";
    return std::nullopt;
  }
  auto scales = wordScales(".qweight", ".g_idx");
  if (!scales)
    return std::nullopt;
  auto zeros = wordZeros(integers.bits, scales->grid.groups, kInOrder);
  if (!zeros)
    return std::nullopt;
  integers.scales = std::move(*scales);
  integers.zeros = std::move(*zeros);
  std::vector<char> own;
  const char *words = bytesOf(value, own).data();
  return make(integers, {}, [&](const CodeSink &sink) {
    forParts(rows, [&](int64_t first, int64_t end) {
      for (int64_t i = 0; i < columns / each; ++i)
        for (int64_t row = first; row < end; ++row) {
          uint32_t word = wordAt(words, i * rows + row);
          for (int64_t j = 0; j < each; ++j, word >>= integers.bits)
            sink.set(row, i * each + j, word & ((1u << integers.bits) - 1));
        }
    });
  });
}

std::optional<CodedMatrix> CodeReader::awq() {
  std::string name = nameOf(".qweight");
  ElementsAttr value = need(".qweight", ".qweight", {"i32"});
  if (!value)
    return std::nullopt;
  int64_t words = int64_t(llvm::divideCeil(rows, 8));
  if (!hasShape(name, value, {columns, words}))
    return std::nullopt;
  auto scales = wordScales(".qweight", "");
  if (!scales)
    return std::nullopt;
  auto zeros = wordZeros(4, scales->grid.groups, kAwqRows);
  if (!zeros)
    return std::nullopt;
  Integers integers{4, std::move(*scales), std::move(*zeros)};
  std::vector<char> own;
  const char *from = bytesOf(value, own).data();
  return make(integers, {}, [&](const CodeSink &sink) {
    forParts(words, [&](int64_t first, int64_t end) {
      for (int64_t column = 0; column < columns; ++column)
        for (int64_t i = first; i < end; ++i) {
          uint32_t word = wordAt(from, column * words + i);
          for (int j : kAwqRows) {
            if (int64_t row = 8 * i + j; row < rows)
              sink.set(row, column, word & 15);
            word >>= 4;
          }
        }
    });
  });
}

//===----------------------------------------------------------------------===//
// compressed-tensors
//===----------------------------------------------------------------------===//

bool CodeReader::readZeros(Integers &integers) {
  std::string name = nameOf(".weight_zero_point");
  ElementsAttr value = tensors.read(name);
  if (!value)
    return true;
  const Grid &grid = integers.scales.grid;
  bool isPacked = value.getElementType().isInteger(32);
  if (!hasType(name, value, {"i8", "i32"}))
    return false;
  int64_t middle = int64_t(1) << (integers.bits - 1);
  if (!isPacked) {
    if (value.getNumElements() != int64_t(grid.numbers.size()))
      return hasShape(name, value, {grid.rows, grid.groups});
    for (int32_t zero : integersOf(value))
      integers.zeros.push_back(zero + int32_t(middle));
    return true;
  }
  int64_t each = 32 / integers.bits;
  int64_t words = int64_t(llvm::divideCeil(grid.rows, each));
  if (!hasShape(name, value, {words, grid.groups}))
    return false;
  std::vector<int32_t> own = integersOf(value);
  for (int64_t row = 0; row < grid.rows; ++row)
    for (int64_t group = 0; group < grid.groups; ++group) {
      uint32_t word = uint32_t(own[row / each * grid.groups + group]);
      integers.zeros.push_back(int32_t(word >> row % each * integers.bits &
                                       ((1u << integers.bits) - 1)));
    }
  return true;
}

std::optional<CodedMatrix> CodeReader::packed() {
  std::string name = nameOf(".weight_packed");
  ElementsAttr value = need(".weight_packed", ".weight_packed", {"i32"});
  if (!value)
    return std::nullopt;
  // Sizes again, of what has been compressed.
  std::string sizes = nameOf(".weight_shape");
  tensors.read(sizes);
  Integers integers;
  integers.bits = bitsOf(name, value, [&](int64_t bits) {
    return SmallVector<int64_t>{rows,
                                int64_t(llvm::divideCeil(columns * bits, 32))};
  });
  if (!integers.bits)
    return std::nullopt;
  auto scales = rowScales(".weight_scale", ".weight_packed",
                          /*hasBlocks=*/false);
  if (!scales)
    return std::nullopt;
  integers.scales = std::move(*scales);
  if (!readZeros(integers))
    return std::nullopt;
  std::vector<char> own;
  ArrayRef<char> words = bytesOf(value, own);
  int64_t each = 32 / integers.bits;
  int64_t count = int64_t(llvm::divideCeil(columns, each));
  bool isWhole = columns % each == 0;
  return make(integers, isWhole && own.empty() ? words : ArrayRef<char>(),
              [&](const CodeSink &sink) {
                forParts(rows, [&](int64_t first, int64_t end) {
                  for (int64_t row = first; row < end; ++row)
                    for (int64_t i = 0; i < columns; ++i) {
                      uint32_t word =
                          wordAt(words.data(), row * count + i / each);
                      sink.set(row, i,
                               word >> i % each * integers.bits &
                                   ((1u << integers.bits) - 1));
                    }
                });
              });
}

std::optional<CodedMatrix> CodeReader::bytes() {
  std::string name = nameOf(".weight");
  ElementsAttr value = need(".weight", ".weight", {"i8"});
  if (!value || !hasShape(name, value, {rows, columns}))
    return std::nullopt;
  auto scales = rowScales(".weight_scale", ".weight", /*hasBlocks=*/false);
  if (!scales)
    return std::nullopt;
  Integers integers{8, std::move(*scales), {}};
  if (!readZeros(integers))
    return std::nullopt;
  std::vector<char> own;
  const char *from = bytesOf(value, own).data();
  return make(integers, {}, [&](const CodeSink &sink) {
    forParts(rows, [&](int64_t first, int64_t end) {
      for (int64_t row = first; row < end; ++row)
        for (int64_t i = 0; i < columns; ++i)
          sink.set(row, i, uint32_t(int8_t(from[row * columns + i]) + 128));
    });
  });
}
