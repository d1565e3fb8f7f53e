//===- TensorMap.cpp - TMA descriptors as text ----------------------------===//
//
//   #plan.tensor_map<argument = 0, type = f16, kind = tiled, dims = [64, 5],
//                    strides = [128], box = [64, 8], element_strides = [1, 1],
//                    swizzle = 128>
//
// is the text of an artifact::TensorMap.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/Plan.h"

#include "frit/dtype.h"

using namespace mlir;
using namespace frit;
using namespace frit::plan;
using artifact::MapKind;

static constexpr StringLiteral kKinds[] = {"tiled", "im2col"};

llvm::hash_code artifact::hash_value(const TensorMap &map) {
  auto range = [](auto &values) {
    return llvm::hash_combine_range(std::begin(values), std::end(values));
  };
  return llvm::hash_combine(map.argument, map.kind, map.type, map.rank,
                            map.offset, range(map.dims), range(map.strides),
                            range(map.elementStrides), map.swizzle,
                            range(map.box), range(map.lower), range(map.upper),
                            map.channels, map.pixels);
}

void TensorMapAttr::print(AsmPrinter &printer) const {
  artifact::TensorMap map = getValue();
  auto number = [&](StringRef name, auto value) {
    if (value)
      printer << ", " << name << " = " << value;
  };
  auto list = [&](StringRef name, auto &values, uint32_t count) {
    printer << ", " << name << " = [";
    llvm::interleaveComma(ArrayRef(values, count), printer);
    printer << "]";
  };
  bool im2col = map.kind == MapKind::im2col;
  printer << "<argument = " << map.argument;
  number("offset", map.offset);
  printer << ", type = " << artifact::findDType(map.type)->ir
          << ", kind = " << kKinds[im2col];
  list("dims", map.dims, map.rank);
  list("strides", map.strides, map.rank - 1);
  if (!im2col)
    list("box", map.box, map.rank);
  list("element_strides", map.elementStrides, map.rank);
  number("swizzle", map.swizzle);
  if (im2col) {
    list("lower", map.lower, map.rank - 2);
    list("upper", map.upper, map.rank - 2);
  }
  number("channels", map.channels);
  number("pixels", map.pixels);
  printer << ">";
}

namespace {
/// Reads the fields, in any order.
class MapParser {
public:
  explicit MapParser(AsmParser &parser) : parser(parser) {}

  ParseResult parse() {
    map.type = artifact::DType(0);
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                       [&] { return parseField(); }))
      return failure();
    map.rank = dims;
    bool im2col = map.kind == MapKind::im2col;
    uint32_t corners = im2col && dims > 1 ? dims - 2 : 0;
    if (dims &&
        (strides != dims - 1 || steps != dims || box != (im2col ? 0 : dims) ||
         lower != corners || upper != corners))
      return parser.emitError(parser.getNameLoc(),
                              "the lists of a tensor map do not fit its rank");
    return success();
  }

  artifact::TensorMap map;

private:
  ParseResult parseField() {
    StringRef name;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (name == "type" || name == "kind")
      return parseWord(name == "type");
    if (name == "dims")
      return parseList(map.dims, dims);
    if (name == "strides")
      return parseList(map.strides, strides);
    if (name == "box")
      return parseList(map.box, box);
    if (name == "element_strides")
      return parseList(map.elementStrides, steps);
    if (name == "lower")
      return parseList(map.lower, lower);
    if (name == "upper")
      return parseList(map.upper, upper);
    if (name == "offset")
      return parser.parseInteger(map.offset);
    uint32_t *number = llvm::StringSwitch<uint32_t *>(name)
                           .Case("argument", &map.argument)
                           .Case("swizzle", &map.swizzle)
                           .Case("channels", &map.channels)
                           .Case("pixels", &map.pixels)
                           .Default(nullptr);
    if (!number)
      return parser.emitError(loc, "a tensor map has no '") << name << "'";
    return parser.parseInteger(*number);
  }

  ParseResult parseWord(bool isType) {
    StringRef word;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    if (isType) {
      map.type =
          artifact::dtypeWith(&artifact::DTypeRow::ir, std::string_view(word));
      return success();
    }
    const auto *kind = llvm::find(kKinds, word);
    if (kind == std::end(kKinds))
      return parser.emitError(loc, "'") << word << "' is no kind of tensor map";
    map.kind = MapKind(kind - kKinds);
    return success();
  }

  template <typename T, size_t N>
  ParseResult parseList(T (&values)[N], uint32_t &count) {
    count = 0;
    return parser.parseCommaSeparatedList(
        AsmParser::Delimiter::Square, [&]() -> ParseResult {
          llvm::SMLoc loc = parser.getCurrentLocation();
          T value = 0;
          if (parser.parseInteger(value))
            return failure();
          if (count == N)
            return parser.emitError(loc, "a tensor map has five dimensions at "
                                         "most");
          values[count++] = value;
          return success();
        });
  }

  AsmParser &parser;
  uint32_t dims = 0, strides = 0, steps = 0, box = 0, lower = 0, upper = 0;
};
} // namespace

Attribute TensorMapAttr::parse(AsmParser &parser, Type) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  MapParser fields(parser);
  if (fields.parse())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    fields.map);
}

/// Checks what the text form needs; the runtime checks the values.
LogicalResult
TensorMapAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      artifact::TensorMap map) {
  if (!artifact::findDType(map.type))
    return emitError() << "a tensor map is of integers or floats";
  if (map.rank < (map.kind == MapKind::im2col ? 3u : 1u) ||
      map.rank > artifact::kMaxMapRank)
    return emitError() << "a tensor map has one to five dimensions, and an "
                          "im2col one at least three";
  return success();
}
