//===- ProductScales.cpp - Scales by which products are quantized ---------===//

#include "compiler/transform/quantize/ProductScales.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using llvm::Error;
using llvm::Twine;

CodeRange frit::rangeOf(InputCode code) {
  assert(code != InputCode::e4m3 && "floats are not integers");
  return code == InputCode::u8 ? CodeRange{0, 255} : CodeRange{-128, 127};
}

StringRef frit::nameOf(InputCode code) {
  return code == InputCode::u8 ? "u8" : code == InputCode::s8 ? "s8" : "e4m3";
}

const ProductScales *ScaleTable::find(StringRef node) const {
  for (const ProductScales &row : rows)
    if (row.node == node)
      return &row;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
class ScalesReader {
public:
  ScalesReader(StringRef text, StringRef path) : rest(text) {
    table.path = path.str();
  }

  llvm::Expected<ScaleTable> read();

private:
  Error wrong(const Twine &message) const {
    return llvm::createStringError(table.path + ":" + Twine(line) + ": " +
                                   message);
  }
  Error readLine(StringRef text);
  Error readName(StringRef &text, std::string &name) const;
  Error readScale(StringRef word, float &scale) const;
  Error readList(StringRef text, StringRef what, std::vector<float> &list);
  Error readInput(StringRef text, ProductScales &row);

  ScaleTable table;
  StringRef rest;
  unsigned line = 0;
  llvm::StringMap<size_t> rows; ///< by node
  llvm::StringMap<bool> given;  ///< nodes whose input has a line
};
} // namespace

/// Reads a name in quotes, in which \ makes the next character literal, and
/// \n is the end of a line.
Error ScalesReader::readName(StringRef &text, std::string &name) const {
  if (!text.consume_front("\""))
    return wrong("a line begins with the name of a node in quotes, not with '" +
                 text.take_front(20) + "'");
  while (!text.empty() && text.front() != '"') {
    if (text.consume_front("\\") && text.consume_front("n")) {
      name += '\n';
      continue;
    }
    if (text.empty())
      break;
    name += text.front();
    text = text.drop_front();
  }
  if (!text.consume_front("\""))
    return wrong("the name of the node has no closing quote");
  return Error::success();
}

Error ScalesReader::readScale(StringRef word, float &scale) const {
  double number;
  if (word.getAsDouble(number))
    return wrong("'" + word + "' is no number");
  scale = float(number);
  if (!(scale > 0) || !std::isfinite(scale))
    return wrong("the scale '" + word +
                 "' is not positive, or not a finite number of f32");
  if (!std::isfinite(1 / scale))
    return wrong("the scale '" + word + "' is so small that 1 / " + word +
                 " is no number of f32");
  return Error::success();
}

Error ScalesReader::readList(StringRef text, StringRef what,
                             std::vector<float> &list) {
  if (!list.empty())
    return wrong("its node already has a line '" + what + "'");
  SmallVector<StringRef> words;
  llvm::SplitString(text, words);
  if (words.empty())
    return wrong("'" + what + "' needs a number for each " +
                 (what == "smooth" ? "column of the input"
                                   : "filter or column of the weights"));
  for (StringRef word : words)
    if (Error error = readScale(word, list.emplace_back()))
      return error;
  return Error::success();
}

/// Reads "u8 SCALE ZERO", "e4m3 SCALE", "e4m3 rows" or "wide".
Error ScalesReader::readInput(StringRef text, ProductScales &row) {
  if (!given.try_emplace(row.node).second)
    return wrong("the node '" + row.node + "' is quantized by two lines");
  row.line = line;
  SmallVector<StringRef> words;
  llvm::SplitString(text, words);
  if (words.size() == 1 && words[0] == "wide") {
    row.isWide = true;
    return Error::success();
  }
  if (!words.empty() && words[0] == "e4m3") {
    if (words.size() != 2)
      return wrong("e4m3 takes a scale, as e4m3 0.0117, or rows");
    row.code = InputCode::e4m3;
    row.ofRows = words[1] == "rows";
    return row.ofRows ? Error::success() : readScale(words[1], row.scale);
  }
  if (words.empty() || (words[0] != "u8" && words[0] != "s8"))
    return wrong("after the node comes u8, s8, e4m3, wide, weights or smooth, "
                 "not '" +
                 (words.empty() ? StringRef() : words[0]) + "'");
  if (words.size() != 3)
    return wrong(words[0] + " takes a scale and a zero point, as " + words[0] +
                 " 0.0117 0");
  row.code = words[0] == "u8" ? InputCode::u8 : InputCode::s8;
  if (Error error = readScale(words[1], row.scale))
    return error;
  CodeRange range = rangeOf(row.code);
  if (words[2].getAsInteger(10, row.zero) || row.zero < range.least ||
      row.zero > range.most)
    return wrong("the zero point '" + words[2] + "' is no integer from " +
                 Twine(range.least) + " to " + Twine(range.most));
  return Error::success();
}

Error ScalesReader::readLine(StringRef text) {
  std::string name;
  if (Error error = readName(text, name))
    return error;
  text = text.take_front(text.find('#')).trim();
  auto [place, isNew] = rows.try_emplace(name, table.rows.size());
  if (isNew)
    table.rows.push_back({name});
  ProductScales &row = table.rows[place->second];
  if (!row.line)
    row.line = line;
  auto [what, list] = text.split(' ');
  if (what == "weights" || what == "smooth")
    return readList(list, what, what == "weights" ? row.weights : row.smooth);
  return readInput(text, row);
}

llvm::Expected<ScaleTable> ScalesReader::read() {
  while (!rest.empty()) {
    StringRef text;
    std::tie(text, rest) = rest.split('\n');
    ++line;
    text = text.trim();
    if (text.empty() || text.starts_with("#"))
      continue;
    if (Error error = readLine(text))
      return error;
  }
  if (table.rows.empty())
    return llvm::createStringError(
        table.path + ": the table names no node, so that nothing would be "
                     "quantized; --calibrate=DATA --scales=FILE writes one");
  for (const ProductScales &row : table.rows)
    if (!given.count(row.node)) {
      line = row.line;
      return wrong("the node '" + row.node +
                   "' has no line that quantizes its input, as u8 0.0117 0");
    }
  return std::move(table);
}

llvm::Expected<ScaleTable> frit::readScales(StringRef text, StringRef path) {
  return ScalesReader(text, path).read();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string quoted(StringRef name) {
  std::string text = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\')
      text += '\\';
    text += c == '\n' ? "\\n" : std::string(1, c);
  }
  return text + "\"";
}

std::string frit::writeScales(const ScaleTable &table) {
  std::string text;
  llvm::raw_string_ostream os(text);
  bool hasFloats = llvm::any_of(table.rows, [](const ProductScales &row) {
    return row.code == InputCode::e4m3;
  });
  os << "# Scales of quantized products, by fritc. A line is \"node\" "
     << (hasFloats ? "e4m3 SCALE,\n# " : "u8 SCALE ZERO, or s8,\n# ")
     << "or \"node\" wide; the error is the model's if only "
        "this product is quantized.\n";
  for (const ProductScales &row : table.rows) {
    std::string name = quoted(row.node);
    os << name;
    if (row.isWide)
      os << " wide";
    else if (row.ofRows)
      os << " " << nameOf(row.code) << " rows";
    else
      os << " " << nameOf(row.code) << " " << llvm::format("%.9g", row.scale);
    if (!row.isWide && row.code != InputCode::e4m3)
      os << " " << row.zero;
    if (row.error)
      os << "  # error " << llvm::format("%.2e", *row.error);
    os << "\n";
    auto list = [&](StringRef what, const std::vector<float> &numbers) {
      if (numbers.empty())
        return;
      os << name << " " << what;
      for (float number : numbers)
        os << " " << llvm::format("%.9g", number);
      os << "\n";
    };
    list("weights", row.weights);
    list("smooth", row.smooth);
  }
  return text;
}
