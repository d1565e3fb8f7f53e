//===- signature.h - Inputs and outputs of a plan -------------------------===//
//
// The compiler writes the hash of a model's signature to the model's C header.
// The runtime compares it with the hash of the linked object's signature.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_SIGNATURE_H
#define FRIT_SIGNATURE_H

#include "frit/dtype.h"

#include <string>
#include <string_view>

namespace frit::artifact {

/// Returns the names, types and shapes of all functions' inputs and outputs:
///
///   main(image: f32 batchx3x224x224) -> (boxes: f32 <=100x4)
///
/// `plan` is a valid plan.
inline std::string signatureOf(const void *plan) {
  auto *base = static_cast<const char *>(plan);
  const Header &head = *static_cast<const Header *>(plan);
  auto text = [&](Text part) {
    return std::string_view(base + head.strings.offset + part.offset,
                            part.size);
  };
  auto entriesOf = [&]<typename Entry>(const Table &table, Entry) {
    return reinterpret_cast<const Entry *>(base + table.offset);
  };
  const Symbol *symbols = entriesOf(head.symbols, Symbol());
  const Extent *extents = entriesOf(head.extents, Extent());
  const Variant *variants = entriesOf(head.variants, Variant());
  const int64_t *dims = entriesOf(head.dims, int64_t());
  std::string result;
  auto list = [&](const Table &table, Range range, uint32_t hidden,
                  uint32_t firstSymbol) {
    result += "(";
    for (uint32_t i = 0; i + hidden < range.count; ++i) {
      const Tensor &tensor = entriesOf(table, Tensor())[range.first + i];
      const DTypeRow *type = findDType(tensor.type);
      result += i ? ", " : "";
      result += text(tensor.name);
      result += std::string(": ") + (type ? type->name : "?");
      for (uint32_t dim = 0; dim < tensor.dims.count; ++dim) {
        result += dim ? "x" : " ";
        Extent extent;
        if (tensor.extents.count)
          extent = extents[tensor.extents.first + dim];
        if (extent.symbol != kNone) {
          std::string size(text(symbols[firstSymbol + extent.symbol].name));
          if (extent.shift)
            size = "(" + size + "+" + std::to_string(extent.shift) + ")";
          if (extent.divisor != 1)
            size += "/" + std::to_string(extent.divisor);
          if (extent.factor != 1)
            size = std::to_string(extent.factor) + "*" +
                   (extent.divisor != 1 ? "(" + size + ")" : size);
          if (extent.offset)
            size +=
                (extent.offset > 0 ? "+" : "") + std::to_string(extent.offset);
          result += size;
        } else {
          result += (extent.count != kNone ? "<=" : "") +
                    std::to_string(dims[tensor.dims.first + dim]);
        }
      }
    }
    result += ")";
  };
  for (uint64_t i = 0; i < head.functions.count; ++i) {
    const Function &function = entriesOf(head.functions, Function())[i];
    Range range = function.variants;
    const Variant &largest = variants[range.first + range.count - 1];
    result += i ? "; " : "";
    result += text(function.name);
    uint32_t computed =
        head.stringPrograms.count
            ? entriesOf(head.stringPrograms, StringProgram())[i].computed
            : 0;
    list(head.inputs, largest.inputs, function.sizes + computed,
         function.symbols.first);
    result += " -> ";
    list(head.outputs, largest.outputs, function.counts,
         function.symbols.first);
  }
  return result;
}

/// Returns the 64-bit FNV-1a hash of a signature.
inline uint64_t signatureHash(std::string_view signature) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : signature)
    hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  return hash;
}

} // namespace frit::artifact

#endif // FRIT_SIGNATURE_H
