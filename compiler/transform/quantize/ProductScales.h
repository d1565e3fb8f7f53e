//===- ProductScales.h - Scales by which products are quantized -----------===//
//
// The table of scales, which the compiler measures and users may edit:
//
//   # comment
//   "conv1" u8 0.0117 3           its input is 0.0117 · (code - 3)
//   "fc1" s8 0.05 0
//   "fc1" weights 0.01 0.02       a scale for each of its filters or columns
//   "fc1" smooth 1 3.5            its input is divided by these, its weights
//                                 are multiplied by them
//   "fc2" wide                    it stays as it is
//   "fc3" e4m3 0.02               its input is 0.02 times floats of 8 bits
//   "fc4" e4m3 rows               the same, with a scale for each row, by which
//                                 its largest number is the largest float
//
// A name is that of a node of the model, or of the last of several with "#2".
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_PRODUCTSCALES_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_PRODUCTSCALES_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace frit {

/// The codes of a product's input: numbers are scale · (code - zero), or scale
/// times a float of 8 bits.
enum class InputCode { u8, s8, e4m3 };

/// The largest number of e4m3.
inline constexpr float kMostE4m3 = 448;

/// The numbers that inputs with a code of integers may have as codes.
struct CodeRange {
  int64_t least, most;
};
CodeRange rangeOf(InputCode code);
llvm::StringRef nameOf(InputCode code);

/// How a product is quantized.
struct ProductScales {
  std::string node;
  bool isWide = false; ///< it is not quantized; no other member counts
  InputCode code = InputCode::s8;
  float scale = 1;  ///< positive and finite
  int64_t zero = 0; ///< 0 of floats
  /// Whether each row of a product's input has a scale of its own, computed in
  /// each call; then `scale` does not count. Only of floats.
  bool ofRows = false;
  /// Scales of the weights, one for each filter or column; empty: the largest
  /// of each has the largest code, or float.
  std::vector<float> weights = {};
  /// Factors of the columns of its input; empty: 1.
  std::vector<float> smooth = {};
  /// The error of the model's results if it alone is quantized, for readers.
  std::optional<double> error = {};
  unsigned line = 0; ///< in the file; 0: it was measured
};

struct ScaleTable {
  std::string path; ///< for messages; empty: it was measured
  std::vector<ProductScales> rows = {};

  const ProductScales *find(llvm::StringRef node) const;
};

/// Reads a table. An error begins with "path:line: ".
llvm::Expected<ScaleTable> readScales(llvm::StringRef text,
                                      llvm::StringRef path);

/// Returns the text of a table, which readScales reads as it was.
std::string writeScales(const ScaleTable &table);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_PRODUCTSCALES_H
