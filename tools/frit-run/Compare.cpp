//===- Compare.cpp - Compare outputs with expected ones -------------------===//

#include "Session.h"
#include "frit/printable.h"
#include "tools/support/Files.h"
#include "tools/support/JsonText.h"
#include "tools/support/Table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace frit::run;
using Json = nlohmann::ordered_json;

namespace {
/// The difference between an output and its expected value.
struct Difference {
  uint64_t wrong = 0; ///< elements out of tolerance
  uint64_t worst = 0; ///< index of the element that exceeds its tolerance most
  double worstExcess = -1;
  double largest = 0;  ///< absolute difference
  double relative = 0; ///< |got - expected| / |expected|
  bool pass = false;
};
} // namespace

/// Returns |got - expected| of an element; infinity if only one is finite or
/// NaN, or if strings differ.
static double distance(const Tensor &got, const Tensor &expected, uint64_t i) {
  if (got.isString())
    return got.texts[i] == expected.texts[i] ? 0 : INFINITY;
  // Integers of 64 bits may be equal as doubles and differ.
  if (got.isInteger() && expected.isInteger()) {
    __int128 delta = got.integerAt(i) - expected.integerAt(i);
    return double(delta < 0 ? -delta : delta);
  }
  double a = got.at(i), b = expected.at(i);
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  double error = std::fabs(a - b);
  return std::isfinite(error) ? error : INFINITY;
}

static Difference differ(const Options &options, const Tensor &got,
                         const Tensor &expected) {
  Difference result;
  double squares = 0, reference = 0;
  for (uint64_t i = 0, count = got.count(); i < count; ++i) {
    double error = distance(got, expected, i);
    double b = got.isString() ? 0 : expected.at(i);
    double excess = error - (options.atol + options.rtol * std::fabs(b));
    if (error && !(excess <= 0)) // true for NaN, even if tolerance is infinite
      ++result.wrong;
    if (excess > result.worstExcess || result.worstExcess == -1) {
      result.worstExcess = excess;
      result.worst = i;
    }
    result.largest = std::max(result.largest, error);
    squares += error * error;
    if (std::isfinite(b))
      reference += b * b;
  }
  result.relative =
      squares == 0 ? 0 : std::sqrt(squares) / std::sqrt(reference);
  result.pass =
      options.l2 >= 0 ? result.relative <= options.l2 : result.wrong == 0;
  return result;
}

/// Finds the expected tensor of each output by name, or the only tensor of a
/// file without names. Empty, after an error message, if a tensor is missing or
/// belongs to no output.
static std::vector<const Tensor *>
matchOutputs(const Session &session, const std::vector<Tensor> &expected,
             bool isArchive) {
  const std::string &file = session.options.compare;
  if (!isArchive && expected.size() == 1 && session.outputs.size() == 1)
    return {&expected[0]};
  auto find = [](const std::vector<Tensor> &tensors, const std::string &name) {
    auto found = std::ranges::find(tensors, name, &Tensor::name);
    return found == tensors.end() ? nullptr : &*found;
  };
  auto list = [](const std::vector<Tensor> &tensors) {
    std::string names;
    for (const Tensor &tensor : tensors)
      names += (names.empty() ? "" : ", ") + tensor.name;
    return names.empty() ? "none" : names;
  };
  std::vector<const Tensor *> matched;
  for (const Tensor &output : session.outputs) {
    const Tensor *reference = find(expected, output.name);
    if (!reference) {
      complain("'" + file + "' has no output '" + output.name +
               "'; its tensors are: " + list(expected));
      return {};
    }
    matched.push_back(reference);
  }
  for (const Tensor &tensor : expected)
    if (!find(session.outputs, tensor.name) &&
        !find(session.inputs, tensor.name)) {
      complain("'" + file + "' expects an output '" + tensor.name +
               "'; the model's outputs are: " + list(session.outputs));
      return {};
    }
  return matched;
}

static void describe(const Tensor &got, const Tensor &expected,
                     const Difference &difference) {
  constexpr int kDigits = 8;
  if (difference.pass || !got.count())
    return;
  printf("  %s: %llu of %llu elements are out of tolerance; worst at %s: got "
         "%s, expected %s\n",
         frit::printable(got.name).c_str(),
         static_cast<unsigned long long>(difference.wrong),
         static_cast<unsigned long long>(got.count()),
         got.position(difference.worst).c_str(),
         got.textOf(difference.worst, kDigits).c_str(),
         expected.textOf(difference.worst, kDigits).c_str());
}

bool frit::run::compare(const Session &session) {
  const Options &options = session.options;
  const std::vector<Tensor> &outputs = session.outputs;
  std::vector<Tensor> expected;
  bool isArchive;
  if (Fault fault = readTensors(options.compare, expected, &isArchive))
    return complain(fault);
  std::vector<const Tensor *> references =
      matchOutputs(session, expected, isArchive);
  if (references.size() != outputs.size())
    return false;
  Table table({"output", "type", ">largest", ">relative L2", ">out", ""});
  Json rows = Json::array();
  std::vector<Difference> differences;
  bool pass = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor &output = outputs[i], *reference = references[i];
    if (reference->dims != output.dims ||
        reference->isString() != output.isString())
      return complain("output '" + output.name + "' is " + output.type() +
                      " and " + reference->type() + " in '" + options.compare +
                      "'");
    Difference difference = differ(options, output, *reference);
    pass &= difference.pass;
    table.add({output.name, output.type(), text("%.3g", difference.largest),
               text("%.3g", difference.relative),
               std::to_string(difference.wrong),
               difference.pass ? "ok" : "DIFFERENT"});
    Json row = {{"name", output.name},
                {"largest", difference.largest},
                {"relative_l2", difference.relative},
                {"out_of_tolerance", difference.wrong},
                {"pass", difference.pass}};
    if (output.count())
      row["worst"] = {{"element", output.position(difference.worst)},
                      {"got", jsonElement(output, difference.worst)},
                      {"expected", jsonElement(*reference, difference.worst)}};
    rows.push_back(std::move(row));
    differences.push_back(difference);
  }
  if (options.json) {
    puts(jsonText({{"pass", pass}, {"outputs", std::move(rows)}}).c_str());
    return pass;
  }
  table.print();
  for (size_t i = 0; i < outputs.size(); ++i)
    describe(outputs[i], *references[i], differences[i]);
  return pass;
}
