//===- RawData.cpp - Keep weights in the model's file ---------------------===//
//
//   graph { initializer { dims: 1024  name: "w"  raw_data: <4096 bytes> } }
// ==>
//   graph { initializer { dims: 1024  name: "w"  data_location: EXTERNAL
//     external_data { key: "location"  value: "model.onnx" }
//     external_data { key: "offset"    value: "1234" }
//     external_data { key: "length"    value: "4096" } } }
//
// The messages are rewritten in protobuf's wire format: fields with a number
// and, here, a length (protobuf.dev/programming-guides/encoding).
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/reader/RawData.h"

#include "compiler/onnx/onnx.pb.h"
#include "compiler/support/Varint.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/LEB128.h"
#include "llvm/Support/raw_ostream.h"

#include <climits>

using namespace llvm;
using frit::importer::takeVarint;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::StringStringEntryProto;
using ::onnx::TensorProto;

/// Smallest data, in bytes, to leave in the file.
static constexpr size_t kLeastBytes = 1 << 10;

namespace {

enum WireType { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  uint64_t number = 0;
  unsigned type = 0;
  StringRef whole, content; ///< content: of length-delimited fields
};

/// Writes length-delimited fields.
class Writer {
public:
  void field(unsigned number, StringRef content) {
    raw_string_ostream os(text);
    encodeULEB128(number << 3 | bytes, os);
    encodeULEB128(content.size(), os);
    os << content;
  }
  void field(unsigned number, uint64_t value) {
    raw_string_ostream os(text);
    encodeULEB128(number << 3 | varint, os);
    encodeULEB128(value, os);
  }

  std::string text;
};

class RawData {
public:
  RawData(StringRef model, StringRef self) : model(model), self(self) {}

  /// Returns the rewritten model; none if it is damaged.
  std::optional<std::string> run() {
    return rewrite(model, [&](const Field &field, Writer &out) {
      if (field.number != ModelProto::kGraphFieldNumber || field.type != bytes)
        return false;
      auto graph = rewrite(field.content, [&](const Field &entry, Writer &out) {
        return rewriteInitializer(entry, out);
      });
      if (graph)
        out.field(field.number, *graph);
      return bool(graph);
    });
  }

private:
  using Rewriter = function_ref<bool(const Field &, Writer &)>;

  /// Removes the first field from `rest`.
  static std::optional<Field> next(StringRef &rest) {
    StringRef at = rest;
    auto tag = takeVarint(at);
    // There is no field 0. Zeros are no message.
    if (!tag || *tag >> 3 == 0)
      return std::nullopt;
    Field field{*tag >> 3, unsigned(*tag & 7), {}, {}};
    std::optional<uint64_t> size = 0;
    if (field.type == varint) {
      if (!takeVarint(at))
        return std::nullopt;
    } else if (field.type == bytes) {
      size = takeVarint(at);
    } else if (field.type == fixed64 || field.type == fixed32) {
      size = field.type == fixed64 ? 8 : 4;
    } else {
      return std::nullopt;
    }
    if (!size || *size > at.size())
      return std::nullopt;
    field.content = at.take_front(*size);
    at = at.drop_front(*size);
    field.whole = rest.drop_back(at.size());
    rest = at;
    return field;
  }

  /// Copies every field that `rewriter` does not handle.
  static std::optional<std::string> rewrite(StringRef message,
                                            Rewriter rewriter) {
    Writer out;
    while (!message.empty()) {
      std::optional<Field> field = next(message);
      if (!field)
        return std::nullopt;
      if (!rewriter(*field, out))
        out.text += field->whole;
    }
    return std::move(out.text);
  }

  bool rewriteInitializer(const Field &field, Writer &out) {
    if (field.number != GraphProto::kInitializerFieldNumber ||
        field.type != bytes)
      return false;
    bool plain = true;
    unsigned found = 0;
    StringRef data;
    for (StringRef rest = field.content; !rest.empty();) {
      std::optional<Field> part = next(rest);
      if (!part)
        return false;
      if (part->number == TensorProto::kRawDataFieldNumber) {
        plain &= part->type == bytes;
        data = part->content;
        ++found;
      }
      // Leave data that is external or in several fields unchanged.
      plain &= part->number != TensorProto::kExternalDataFieldNumber &&
               part->number != TensorProto::kDataLocationFieldNumber;
    }
    if (!plain || found != 1 || data.size() < kLeastBytes)
      return false;
    auto tensor = rewrite(field.content, [](const Field &part, Writer &) {
      return part.number == TensorProto::kRawDataFieldNumber;
    });
    Writer external;
    external.text = std::move(*tensor);
    external.field(TensorProto::kDataLocationFieldNumber,
                   TensorProto::EXTERNAL);
    auto entry = [&](StringRef key, StringRef value) {
      Writer pair;
      pair.field(StringStringEntryProto::kKeyFieldNumber, key);
      pair.field(StringStringEntryProto::kValueFieldNumber, value);
      external.field(TensorProto::kExternalDataFieldNumber, pair.text);
    };
    entry("location", self);
    entry("offset", std::to_string(data.data() - model.data()));
    entry("length", std::to_string(data.size()));
    out.field(field.number, external.text);
    return true;
  }

  StringRef model, self;
};

} // namespace

std::optional<uint64_t> frit::importer::takeVarint(StringRef &bytes) {
  std::string_view rest = bytes;
  std::optional<uint64_t> value = frit::takeVarint(rest);
  bytes = rest;
  return value;
}

std::string frit::importer::leaveRawData(StringRef model, StringRef self) {
  std::optional<std::string> slim = RawData(model, self).run();
  if (slim)
    return std::move(*slim);
  // Protobuf reads no longer one.
  return model.size() > INT_MAX ? std::string() : model.str();
}
