//===- Mutate.h - Change ONNX models, field by field ----------------------===//

#ifndef FRIT_TEST_FUZZ_MUTATE_H
#define FRIT_TEST_FUZZ_MUTATE_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace frit::fuzz {

/// A kind of message, by the numbers of its fields that are messages too.
struct Message {
  struct Field {
    uint32_t number;
    const Message *type;
  };
  std::vector<Field> fields;
};

/// onnx.ModelProto
const Message &modelMessage();

/// A field as it was read. One that is no message, or is none that can be read,
/// is a number or bytes.
struct Field {
  uint32_t number = 0;
  uint32_t wire = 0;
  uint64_t value = 0; ///< of a varint, fixed64 or fixed32
  std::string bytes;  ///< with a length, where there is no `type`
  const Message *type = nullptr;
  std::vector<Field> fields; ///< with a `type`
};

/// The fields of a message; false where these are none.
bool parse(std::string_view bytes, const Message &type,
           std::vector<Field> &fields, unsigned depth = 0);

std::string serialize(const std::vector<Field> &fields);

/// All fields below these that have no length of their own to be wrong, in
/// pre-order.
void collect(std::vector<Field> &fields, std::vector<Field *> &all);

} // namespace frit::fuzz

#endif // FRIT_TEST_FUZZ_MUTATE_H
