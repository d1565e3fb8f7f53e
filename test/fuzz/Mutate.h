//===- Mutate.h - Mutate ONNX models field by field -----------------------===//

#ifndef FRIT_TEST_FUZZ_MUTATE_H
#define FRIT_TEST_FUZZ_MUTATE_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace frit::fuzz {

/// A kind of message: the numbers of its fields that are messages.
struct Message {
  struct Field {
    uint32_t number;
    const Message *type;
  };
  std::vector<Field> fields;
};

/// onnx.ModelProto
const Message &modelMessage();

/// A parsed field. One that is not a message, or cannot be parsed as one, is a
/// number or bytes.
struct Field {
  uint32_t number = 0;
  uint32_t wire = 0;
  uint64_t value = 0; ///< if varint, fixed64 or fixed32
  std::string bytes;  ///< if length-delimited and no `type`
  const Message *type = nullptr;
  std::vector<Field> fields; ///< with a `type`
};

/// Parses the fields of a message; false if it is malformed.
bool parse(std::string_view bytes, const Message &type,
           std::vector<Field> &fields, unsigned depth = 0);

std::string serialize(const std::vector<Field> &fields);

/// Collects, in pre-order, all nested fields.
void collect(std::vector<Field> &fields, std::vector<Field *> &all);

} // namespace frit::fuzz

#endif // FRIT_TEST_FUZZ_MUTATE_H
