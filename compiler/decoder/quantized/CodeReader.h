//===- CodeReader.h - Reads a matrix of codes of a folder -----------------===//

#ifndef FRIT_COMPILER_DECODER_QUANTIZED_CODEREADER_H
#define FRIT_COMPILER_DECODER_QUANTIZED_CODEREADER_H

#include "compiler/decoder/quantized/CodedMatrix.h"
#include "compiler/decoder/quantized/Factors.h"
#include "compiler/decoder/quantized/Scheme.h"
#include "compiler/decoder/quantized/StoredTensors.h"

namespace frit::decoder {

/// Takes codes by row and stored column, each once. Rows may be written side by
/// side.
struct CodeSink {
  uint8_t *bytes; ///< zeros at first
  int64_t rowBytes;
  bool isFour;           ///< codes have 4 bits, else 8
  int shift;             ///< is added to codes
  const int32_t *places; ///< of stored columns; null: their own

  void set(int64_t row, int64_t column, uint32_t code) const {
    if (places)
      column = places[column];
    uint8_t own = uint8_t(code + shift);
    if (isFour)
      bytes[row * rowBytes + column / 2] |= own << column % 2 * 4;
    else
      bytes[row * rowBytes + column] = own;
  }
};

/// Reads the matrix of one module, `rows` outputs × `columns` inputs. Readers
/// return none after an error.
class CodeReader {
public:
  CodeReader(StoredTensors &tensors, const Scheme &scheme,
             llvm::StringRef module, int64_t rows, int64_t columns)
      : tensors(tensors), scheme(scheme), module(module.str()), rows(rows),
        columns(columns) {}

  /// Reads `.qweight`, words of 32 bits that run along the columns, with
  /// `.scales`, `.qzeros` and, unless groups are in order, `.g_idx`.
  std::optional<CodedMatrix> gptq();
  /// Reads `.qweight`, words that run along the rows, `.scales` and `.qzeros`.
  std::optional<CodedMatrix> awq();
  /// Reads `.weight_packed`, rows of words, with `.weight_scale` and maybe
  /// `.weight_zero_point` and `.weight_g_idx`.
  std::optional<CodedMatrix> packed();
  /// Reads `.weight` of i8, with the same.
  std::optional<CodedMatrix> bytes();
  /// Reads `.weight` of f8E4M3FN, with `.weight_scale_inv` or `.weight_scale`.
  std::optional<CodedMatrix> floats();

private:
  /// Scales as the files have them: `together` rows share a row.
  struct Scales {
    Grid grid;
    int64_t together;
    ColumnGroups columns;
  };

  /// Codes without a sign, from 0 to 2^bits - 1, and what they stand for:
  /// scale · (code - zero).
  struct Integers {
    int64_t bits;
    Scales scales;
    std::vector<int32_t> zeros; ///< in the order of the scales; empty: middle
  };

  std::string nameOf(llvm::StringRef suffix) const {
    return module + suffix.str();
  }
  /// Returns a tensor that the codes in `codes` need, of one of `types`.
  mlir::ElementsAttr need(llvm::StringRef suffix, llvm::StringRef codes,
                          llvm::ArrayRef<llvm::StringRef> types);
  bool hasType(llvm::StringRef name, mlir::ElementsAttr value,
               llvm::ArrayRef<llvm::StringRef> types) const;
  bool hasShape(llvm::StringRef name, mlir::ElementsAttr value,
                llvm::ArrayRef<int64_t> shape) const;
  /// Returns how many bits, of those that the scheme has, give words the shape
  /// that they have; 0 after an error.
  int64_t bitsOf(llvm::StringRef name, mlir::ElementsAttr words,
                 llvm::function_ref<llvm::SmallVector<int64_t>(int64_t bits)>
                     shapeOf) const;
  std::optional<Grid> finiteGrid(llvm::StringRef name, mlir::ElementsAttr value,
                                 bool transposed) const;
  /// Returns the groups of columns that share a scale: those that the tensor
  /// `order` has, which may be missing, or `count` of the scheme's size.
  std::optional<ColumnGroups> groups(llvm::StringRef order,
                                     llvm::StringRef scales, int64_t count);
  /// Reads `.scales`, groups × rows.
  std::optional<Scales> wordScales(llvm::StringRef codes,
                                   llvm::StringRef order);
  /// Reads `.qzeros`, groups × words along the rows. Code i of a word is that
  /// of row `nibbles[i]` of its rows.
  std::optional<std::vector<int32_t>> wordZeros(int64_t bits, int64_t count,
                                                llvm::ArrayRef<int> nibbles);
  /// Reads scales of rows: one, one a row, one a group or, with `hasBlocks`,
  /// one a block of rows and columns.
  std::optional<Scales> rowScales(llvm::StringRef suffix, llvm::StringRef codes,
                                  bool hasBlocks);
  /// Reads `.weight_zero_point`, if there is such.
  bool readZeros(Integers &integers);
  /// Makes the matrix. `write` writes all codes by a CodeSink, once. If
  /// `stored` is not empty, it has the codes as nn.dequantize has them, unless
  /// they are to change.
  CodedMatrix make(const Integers &integers, llvm::ArrayRef<char> stored,
                   llvm::function_ref<void(const CodeSink &)> write) const;
  /// Makes a matrix of codes, of which there is one in `bytes` or two.
  CodedMatrix make(nn::Code code, llvm::ArrayRef<char> bytes,
                   std::shared_ptr<const void> owner, const Scales &scales,
                   llvm::ArrayRef<float> offsets) const;

  StoredTensors &tensors;
  const Scheme &scheme;
  std::string module;
  int64_t rows, columns;
};

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_QUANTIZED_CODEREADER_H
