//===- Mutate.cpp - Mutate ONNX models field by field ---------------------===//
//
// Bit flips usually destroy a serialized message. So libFuzzer's mutations are
// applied to single fields, and fields are removed, repeated, swapped, and
// copied from elsewhere in this or another model.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/Mutate.h"

#include "compiler/support/Varint.h"

#include <algorithm>
#include <cstring>
#include <random>

using namespace frit::fuzz;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed);
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size,
                                            const uint8_t *other,
                                            size_t otherSize, uint8_t *out,
                                            size_t most, unsigned seed);

const Message &frit::fuzz::modelMessage() {
  // Numbers from onnx.proto.
  static Message plain, tensor, dims, tensorType, type, info, sparse, graph,
      attribute, node, function, model;
  if (model.fields.empty()) {
    tensor.fields = {{3, &plain}, {13, &plain}};
    sparse.fields = {{1, &tensor}, {2, &tensor}};
    dims.fields = {{1, &plain}};
    tensorType.fields = {{2, &dims}};
    type.fields = {{1, &tensorType}, {4, &type}, {9, &type}};
    info.fields = {{2, &type}};
    attribute.fields = {{5, &tensor},  {6, &graph},  {10, &tensor},
                        {11, &graph},  {14, &type},  {15, &type},
                        {22, &sparse}, {23, &sparse}};
    node.fields = {{5, &attribute}};
    graph.fields = {{1, &node},  {5, &tensor}, {11, &info},
                    {12, &info}, {13, &info},  {15, &sparse}};
    function.fields = {{7, &node}, {9, &plain}, {11, &attribute}, {12, &info}};
    model.fields = {{7, &graph}, {8, &plain}, {14, &plain}, {25, &function}};
  }
  return model;
}

//===----------------------------------------------------------------------===//
// Reading and writing: protobuf.dev/programming-guides/encoding
//===----------------------------------------------------------------------===//

static bool takeVarint(std::string_view &bytes, uint64_t &value) {
  std::optional<uint64_t> taken = frit::takeVarint(bytes);
  value = taken.value_or(0);
  return taken.has_value();
}

static void addVarint(std::string &bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    bytes += char(value | 0x80);
  bytes += char(value);
}

bool frit::fuzz::parse(std::string_view bytes, const Message &type,
                       std::vector<Field> &fields, unsigned depth) {
  constexpr unsigned deepest = 40;
  if (depth > deepest)
    return false;
  while (!bytes.empty()) {
    Field field;
    uint64_t tag, size;
    if (!takeVarint(bytes, tag) || tag >> 3 == 0)
      return false;
    field.number = uint32_t(tag >> 3);
    field.wire = tag & 7;
    if (field.wire == 0) {
      if (!takeVarint(bytes, field.value))
        return false;
    } else if (field.wire == 1 || field.wire == 5) {
      size = field.wire == 1 ? 8 : 4;
      if (bytes.size() < size)
        return false;
      memcpy(&field.value, bytes.data(), size);
      bytes.remove_prefix(size);
    } else if (field.wire == 2) {
      if (!takeVarint(bytes, size) || size > bytes.size())
        return false;
      std::string_view content = bytes.substr(0, size);
      for (const Message::Field &known : type.fields)
        if (known.number == field.number &&
            parse(content, *known.type, field.fields, depth + 1))
          field.type = known.type;
      if (!field.type) {
        field.fields.clear();
        field.bytes = content;
      }
      bytes.remove_prefix(size);
    } else {
      return false;
    }
    fields.push_back(std::move(field));
  }
  return true;
}

std::string frit::fuzz::serialize(const std::vector<Field> &fields) {
  std::string bytes;
  for (const Field &field : fields) {
    addVarint(bytes, uint64_t(field.number) << 3 | field.wire);
    if (field.wire == 0) {
      addVarint(bytes, field.value);
    } else if (field.wire == 2) {
      std::string content = field.type ? serialize(field.fields) : field.bytes;
      addVarint(bytes, content.size());
      bytes += content;
    } else {
      bytes.append(reinterpret_cast<const char *>(&field.value),
                   field.wire == 1 ? 8 : 4);
    }
  }
  return bytes;
}

void frit::fuzz::collect(std::vector<Field> &fields,
                         std::vector<Field *> &all) {
  for (Field &field : fields) {
    all.push_back(&field);
    collect(field.fields, all);
  }
}

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

namespace {

class Mutator {
public:
  Mutator(std::vector<Field> &model, unsigned seed)
      : model(model), random(seed) {}

  /// `other` is the source of copied fields; it may be `model`.
  void run(std::vector<Field> &other) {
    for (unsigned left = 1 + below(3); left; --left)
      change(other);
  }

private:
  size_t below(size_t end) { return random() % end; }

  /// Returns the fields of a random message.
  std::vector<Field> &someMessage() {
    std::vector<std::vector<Field> *> lists = {&model};
    std::vector<Field *> all;
    collect(model, all);
    for (Field *field : all)
      if (field->type && !field->fields.empty())
        lists.push_back(&field->fields);
    return *lists[below(lists.size())];
  }

  void change(std::vector<Field> &other) {
    std::vector<Field> &fields = someMessage();
    if (fields.empty())
      return;
    size_t at = below(fields.size());
    switch (below(8)) {
    case 0:
      fields.erase(fields.begin() + ptrdiff_t(at));
      return;
    case 1: {
      Field copy = fields[at];
      fields.insert(fields.begin() + ptrdiff_t(below(fields.size() + 1)),
                    std::move(copy));
      return;
    }
    case 2:
      std::swap(fields[at], fields[below(fields.size())]);
      return;
    case 3:
    case 4:
      return replace(fields[at], other);
    default:
      return changeValue(fields[at]);
    }
  }

  /// Replaces `field` by a field from elsewhere: a message of the same kind, or
  /// a string by a string, such as one value's name by another's.
  void replace(Field &field, std::vector<Field> &other) {
    std::vector<Field *> all, fitting;
    collect(other, all);
    for (Field *from : all)
      if (from->type == field.type && from->wire == field.wire &&
          (field.type || from->number == field.number || below(4) == 0))
        fitting.push_back(from);
    if (fitting.empty())
      return;
    Field copy = *fitting[below(fitting.size())];
    copy.number = field.number;
    field = std::move(copy);
  }

  void changeValue(Field &field) {
    constexpr size_t grows = 64;
    if (field.type)
      return;
    if (field.wire == 2) {
      size_t size = field.bytes.size();
      field.bytes.resize(size + grows);
      size = LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(field.bytes.data()),
                              size, field.bytes.size());
      field.bytes.resize(size);
      return;
    }
    static constexpr uint64_t special[] = {0,
                                           1,
                                           2,
                                           3,
                                           7,
                                           8,
                                           16,
                                           64,
                                           ~uint64_t(0),
                                           ~uint64_t(1),
                                           uint64_t(1) << 63,
                                           ~(uint64_t(1) << 63),
                                           uint64_t(1) << 31,
                                           uint64_t(1) << 40};
    switch (below(4)) {
    case 0:
      field.value += below(5) - 2;
      return;
    case 1:
      field.value ^= uint64_t(1) << below(64);
      return;
    case 2:
      field.value = below(32);
      return;
    default:
      field.value = special[below(std::size(special))];
    }
  }

  std::vector<Field> &model;
  std::minstd_rand random;
};

} // namespace

static size_t mutate(const uint8_t *data, size_t size, const uint8_t *other,
                     size_t otherSize, uint8_t *out, size_t most,
                     unsigned seed) {
  std::vector<Field> model, from;
  auto text = [](const uint8_t *bytes, size_t count) {
    return std::string_view(reinterpret_cast<const char *>(bytes), count);
  };
  // Sometimes keep broken files.
  constexpr unsigned sometimes = 20;
  if (seed % sometimes == 0 || !parse(text(data, size), modelMessage(), model))
    return 0;
  bool crosses = other && parse(text(other, otherSize), modelMessage(), from);
  Mutator(model, seed).run(crosses ? from : model);
  std::string bytes = serialize(model);
  if (bytes.size() > most)
    return 0;
  memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed) {
  size_t changed = mutate(data, size, nullptr, 0, data, most, seed);
  return changed ? changed : LLVMFuzzerMutate(data, size, most);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size,
                                 const uint8_t *other, size_t otherSize,
                                 uint8_t *out, size_t most, unsigned seed) {
  return mutate(data, size, other, otherSize, out, most, seed);
}
