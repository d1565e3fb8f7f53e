//===- Tokens.cpp - Samples cut from a file of tokens ---------------------===//

#include "tools/frit-train/data/Dataset.h"

#include <algorithm>
#include <charconv>
#include <cstring>

using namespace frit::train;

namespace {
/// A file of tokens, as the command line names it.
struct TokenFile {
  std::string path;
  frit_dtype dtype = FRIT_U16;
  uint64_t skip = 0; ///< bytes
  std::optional<int64_t> end;

  bool parse(std::string text);
  /// Maps the tokens.
  Fault open(TensorView &view) const;
};
} // namespace

/// Parses an integer, which may be negative if `T` is signed.
template <typename T>
static bool parseNumber(std::string_view text, T &number) {
  auto [end, fault] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size();
}

/// Parses the options after the file's name: ",type=u16,skip=1024".
bool TokenFile::parse(std::string text) {
  while (true) {
    size_t comma = text.rfind(',');
    std::string option = comma == text.npos ? "" : text.substr(comma + 1);
    if (option.starts_with("type=")) {
      std::vector<int64_t> dims;
      if (!parseType(option.substr(5), dtype, dims) || !dims.empty() ||
          dtype < FRIT_I8 || dtype > FRIT_U64)
        return false;
    } else if (option.starts_with("skip=")) {
      if (!parseNumber(std::string_view(option).substr(5), skip))
        return false;
    } else if (option.starts_with("end=")) {
      if (!parseNumber(std::string_view(option).substr(4), end.emplace()))
        return false;
    } else {
      path = text;
      return !path.empty();
    }
    text.resize(comma);
  }
}

Fault TokenFile::open(TensorView &view) const {
  view.dtype = dtype;
  if (Fault fault = mapFile(path, view.data, view.owner))
    return fault;
  uint64_t size = frit_dtype_size(dtype);
  std::string start =
      "'" + path + "' has " + std::to_string(view.data.size()) + " bytes, ";
  if (skip > view.data.size())
    return Fault(start + "and skip=" + std::to_string(skip) +
                 " is past its end");
  if ((view.data.size() - skip) % size)
    return Fault(start + "which is no whole number of " +
                 frit_dtype_name(dtype) + " after " + std::to_string(skip));
  view.data = view.data.subspan(skip);
  return {};
}

/// Returns a token of the file.
static int64_t tokenAt(const TensorView &view, uint64_t at) {
  const uint8_t *from = view.data.data() + at * frit_dtype_size(view.dtype);
  auto read = [&]<typename T>(T token) {
    memcpy(&token, from, sizeof token);
    return int64_t(token);
  };
  switch (view.dtype) {
  case FRIT_I8:
    return read(int8_t());
  case FRIT_U8:
    return read(uint8_t());
  case FRIT_I16:
    return read(int16_t());
  case FRIT_U16:
    return read(uint16_t());
  case FRIT_I32:
    return read(int32_t());
  case FRIT_U32:
    return read(uint32_t());
  default:
    return read(int64_t());
  }
}

/// Finds out which part of packed documents each input takes.
Fault Dataset::findParts() {
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string &name = given[i].name;
    columns[i].part = i == 0                     ? Part::tokens
                      : name == "position_ids"   ? Part::positions
                      : name == "segment_ids"    ? Part::segments
                      : name == "attention_mask" ? Part::mask
                                                 : Part::labels;
  }
  if (std::ranges::count(columns, Part::labels, &Column::part) == 1)
    return {};
  std::string names;
  for (const Input &input : given)
    names += (names.empty() ? "'" : ", '") + input.name + "'";
  return Fault("packed documents fit a step whose first input takes tokens, "
               "and one other labels; the rest are called position_ids, "
               "segment_ids or attention_mask. Its inputs are " +
               names);
}

Fault Dataset::openTokens(const std::string &source,
                          const std::vector<Input> &inputs,
                          int64_t ignoredLabel) {
  given = inputs;
  columns.assign(inputs.size(), {});
  images = {};
  packed = {};
  hasTokens = true;
  ignored = ignoredLabel;
  TokenFile file;
  if (!file.parse(source))
    return Fault("'" + source +
                 "': write FILE,type=u16,skip=BYTES,end=TOKEN; the type is an "
                 "integer's");
  for (const Input &input : inputs) {
    bool isText = input.isInteger() && input.dims.size() == 2 &&
                  input.dims == inputs[0].dims;
    if (!isText || (!file.end && inputs.size() != 2))
      return Fault(
          "a file of tokens fits a step with two integer inputs of one shape, "
          "batch x length: the tokens and the labels; input '" +
          input.name + "' is " +
          formatType(input.dtype, uint32_t(input.dims.size()),
                     input.dims.data()) +
          (inputs.size() == 2
               ? ""
               : ", and there are " + std::to_string(inputs.size())));
  }
  TensorView view;
  if (Fault fault = file.open(view))
    return fault;
  uint64_t tokens = view.data.size() / frit_dtype_size(view.dtype);
  uint64_t length = uint64_t(inputs[0].dims[1]);
  for (size_t i = 0; i < inputs.size(); ++i)
    columns[i] = {length * frit_dtype_size(inputs[i].dtype), view, i};
  if (!file.end) {
    // The last token is a label only.
    samples = tokens && length ? (tokens - 1) / length : 0;
    return {};
  }
  end = *file.end;
  if (Fault fault = findParts())
    return fault;
  if (length)
    packed.pack([&](uint64_t at) { return tokenAt(view, at); }, tokens, end,
                length);
  samples = packed.rows();
  return samples ? Fault()
                 : Fault("'" + file.path + "' has no document of two tokens");
}

/// Writes an integer of `size` bytes.
static void putInteger(int64_t number, size_t size, uint8_t *to) {
  // Little-endian, so it begins with the bytes of a narrower type.
  memcpy(to, &number, size);
}

void Dataset::copyPacked(uint64_t sample, size_t input, uint8_t *to) const {
  const Column &column = columns[input];
  size_t size = frit_dtype_size(given[input].dtype);
  int64_t padding = column.part == Part::tokens   ? end
                    : column.part == Part::labels ? ignored
                                                  : 0;
  for (uint64_t at = 0; at < column.bytes; at += size)
    putInteger(padding, size, to + at);
  packed.visit(sample, [&](uint64_t place, uint64_t document, uint64_t position,
                           uint64_t token) {
    int64_t number = 1;
    switch (column.part) {
    case Part::tokens:
      number = tokenAt(column.view, token);
      break;
    case Part::labels:
      number = tokenAt(column.view, token + 1);
      break;
    case Part::positions:
      number = int64_t(position);
      break;
    case Part::segments:
      number = int64_t(document);
      break;
    case Part::mask:
      break;
    }
    putInteger(number, size, to + place * size);
  });
}

void Dataset::copyTokens(uint64_t sample, size_t input, uint8_t *to) const {
  const Column &column = columns[input];
  size_t size = frit_dtype_size(given[input].dtype);
  uint64_t count = column.bytes / size;
  uint64_t first = sample * count + column.shift;
  for (uint64_t i = 0; i < count; ++i)
    putInteger(tokenAt(column.view, first + i), size, to + i * size);
}
