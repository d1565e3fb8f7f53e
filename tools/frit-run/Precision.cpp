//===- Precision.cpp - Compare 16-bit results with f32 --------------------===//
//
// Runs a model and its shadow, the same model computed in f32, step by step.
// Results are matched by the nodes that compute them. Both are best compiled
// with -O0, which gives a kernel per operator. A node is reported if the
// model's storage type cannot represent the shadow's numbers, but not because
// its inputs are already wrong.
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "compiler/driver/OutputFile.h"
#include "tools/support/Files.h"
#include "tools/support/JsonText.h"
#include "tools/support/Table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace frit::run;

namespace {
/// Results of one run, by node, in order.
using Results = std::map<std::string, std::vector<frit::tools::Tensor>>;

/// The difference between a result and the shadow's.
struct Row {
  std::string node, type;
  double error = 0;    ///< relative error of the model's numbers
  double rounding = 0; ///< relative error after rounding to the type
  double largest = 0;  ///< largest number of the shadow
  uint64_t over = 0, under = 0;
  /// Whether the type cannot represent the shadow's numbers: some overflow, or
  /// are so small that their rounding error is twice that of others.
  bool isToBlame = false;
};
} // namespace

static bool isFloat(frit_dtype type) {
  return type == FRIT_F16 || type == FRIT_BF16 || type == FRIT_F32;
}

static void visit(void *user, const frit_step_info *step,
                  const frit_step_result *results, uint32_t number) {
  for (const frit_step_result &result : std::span(results, number)) {
    if (!isFloat(result.dtype) || !result.count)
      continue;
    auto *bytes = static_cast<const uint8_t *>(result.data);
    frit::tools::Tensor tensor;
    tensor.dtype = result.dtype;
    tensor.dims = {int64_t(result.count)};
    tensor.data = frit::tools::Storage(
        bytes, bytes + result.count * frit_dtype_size(result.dtype));
    (*static_cast<Results *>(user))[step->node].push_back(std::move(tensor));
  }
}

static bool trace(Session &session, Results &results) {
  std::vector<frit_tensor> inputs = session.bindInputs();
  frit::Error error(frit_trace(session.context.get(), inputs.data(),
                               uint32_t(inputs.size()), nullptr, 0, visit,
                               &results));
  return error ? session.failed(error) : true;
}

static Row compareResult(const std::string &node,
                         const frit::tools::Tensor &result,
                         const frit::tools::Tensor &shadow) {
  Row row = {node, result.type()};
  bool isHalf = result.dtype == FRIT_F16;
  double most = isHalf ? 65504 : 3.3895e38, least = isHalf ? 0x1p-25 : 0x1p-134;
  double difference = 0, rounding = 0, norm = 0;
  frit::tools::Tensor rounded;
  rounded.dtype = result.dtype;
  rounded.data.resize(frit_dtype_size(result.dtype));
  for (uint64_t i = 0; i < result.count(); ++i) {
    double x = result.at(i), y = shadow.at(i), size = std::fabs(y);
    if (!std::isfinite(y))
      continue;
    row.largest = std::max(row.largest, size);
    row.over += size > most;
    row.under += size > 0 && size < least;
    norm += y * y;
    if (x != y)
      difference += (x - y) * (x - y);
    rounded.set(0, y);
    rounding += (rounded.at(0) - y) * (rounded.at(0) - y);
  }
  row.error = std::sqrt(norm > 0 ? difference / norm : difference);
  row.rounding = std::sqrt(norm > 0 ? rounding / norm : 0);
  // Rounding to nearest has a relative error of at most 2^-11, or 2^-8, for
  // normal numbers.
  row.isToBlame = row.rounding > (isHalf ? 0x1p-10 : 0x1p-7);
  return row;
}

/// Returns the names in "node 'a' (Gemm, opset 17), node 'b' (Relu, opset 17)".
static std::set<std::string> namesIn(const std::string &nodes) {
  std::set<std::string> names;
  for (size_t at = 0; (at = nodes.find("node '", at)) != std::string::npos;) {
    size_t end = nodes.find("' (", at += 6);
    if (end == std::string::npos)
      break;
    names.insert(nodes.substr(at, end - at));
  }
  return names;
}

static void printTable(const std::vector<Row> &rows, uint64_t alone) {
  Table table({"node", "type", "error", "rounding", "largest", "overflows",
               "underflows"});
  for (const Row &row : rows)
    table.add({row.node, row.type, text("%.1e", row.error),
               text("%.1e", row.rounding), text("%.3g", row.largest),
               std::to_string(row.over), std::to_string(row.under)});
  table.print();
  if (alone)
    printf("%llu results have no counterpart: compile both with -O0\n",
           (unsigned long long)alone);
}

static void printJson(const std::vector<Row> &rows, uint64_t alone) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row &row : rows)
    list.push_back({{"node", row.node},
                    {"type", row.type},
                    {"error", row.error},
                    {"rounding", row.rounding},
                    {"largest", row.largest},
                    {"overflows", row.over},
                    {"underflows", row.under},
                    {"keep", row.isToBlame}});
  puts(frit::tools::jsonText(
           {{"results", std::move(list)}, {"without_counterpart", alone}})
           .c_str());
}

int frit::run::precision(Session &session) {
  Options ofShadow = session.options;
  ofShadow.model = session.options.shadow;
  Session shadow(ofShadow);
  Results results, wide;
  if (!shadow.openModule() || !shadow.prepareTensors() ||
      !shadow.openContext() || !trace(shadow, wide))
    return shadow.status();
  if (!trace(session, results))
    return session.status();
  std::vector<Row> rows;
  uint64_t alone = 0;
  for (auto &[node, narrow] : results) {
    std::vector<frit::tools::Tensor> &others = wide[node];
    for (size_t i = 0; i < narrow.size(); ++i) {
      if (narrow[i].dtype == FRIT_F32)
        continue;
      if (i < others.size() && others[i].count() == narrow[i].count())
        rows.push_back(compareResult(node, narrow[i], others[i]));
      else
        ++alone;
    }
  }
  std::ranges::stable_sort(rows, [](const Row &a, const Row &b) {
    return std::pair(a.isToBlame ? a.rounding : 0, a.error) >
           std::pair(b.isToBlame ? b.rounding : 0, b.error);
  });
  if (rows.empty()) {
    complain(alone ? "no result has a counterpart in '" + ofShadow.model +
                         "': is it the same model? Compile both with -O0"
                   : "'" + session.options.model +
                         "' stores no result in 16 bits");
    return kBadInput;
  }
  std::string kept;
  for (const Row &row : rows)
    if (row.isToBlame)
      for (const std::string &name : namesIn(row.node))
        if (("\n" + kept).find("\n" + name + "\n") == std::string::npos)
          kept += name + "\n";
  if (session.options.json)
    printJson(rows, alone);
  else
    printTable(rows, alone);
  const std::string &keep = session.options.keep;
  if (keep.empty())
    return kDone;
  return report(writingFault(keep, frit::writeFile(keep, kept)));
}
