//===- Gguf.h - What a GGUF file says -------------------------------------===//
//
// Versions 2 and 3: a header, key-values, descriptions of tensors, their data.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_GGUF_H
#define FRIT_COMPILER_SUPPORT_GGUF_H

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace frit {

/// Types of tensors, by their number in files.
enum class GgufType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q8_1 = 9,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  q8_k = 15,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  i8 = 24,
  i16 = 25,
  i32 = 26,
  i64 = 27,
  f64 = 28,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40
};

/// Blocks of a type: weights that are stored together.
struct GgufBlock {
  const char *name; ///< "Q4_K"
  uint32_t weights, bytes;
};

/// Returns nothing for a number that is no type.
std::optional<GgufBlock> blockOf(GgufType type);

/// An array of numbers or truth values, as doubles, or of texts.
using GgufArray =
    std::variant<std::vector<double>, std::vector<std::string_view>>;

/// A value of a key. Integers are kept exactly: unsigned ones as uint64_t.
using GgufValue =
    std::variant<uint64_t, int64_t, double, bool, std::string_view, GgufArray>;

struct GgufTensor {
  std::string_view name;
  GgufType type = GgufType::f32;
  /// 1 to 4 sizes, that of neighbours in memory first; the first one is a
  /// multiple of the block's weights.
  std::vector<uint64_t> dims;
  std::span<const uint8_t> data;
};

/// The contents of a file, whose bytes must outlive this. All positions and
/// sizes were checked; texts may be any bytes.
struct GgufFile {
  std::map<std::string_view, GgufValue> values;
  std::map<std::string_view, GgufTensor> tensors;

  /// Each returns nothing if the key is missing or has another type.
  const GgufValue *find(std::string_view key) const;
  std::optional<uint64_t> count(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string_view> text(std::string_view key) const;
  const std::vector<double> *numbers(std::string_view key) const;
  const std::vector<std::string_view> *texts(std::string_view key) const;
};

/// Reads a file that may be damaged. Returns false, and in `error` why and
/// where. Takes memory in proportion to the part of the file before the data.
bool readGguf(std::span<const uint8_t> bytes, GgufFile &file,
              std::string &error);

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_GGUF_H
