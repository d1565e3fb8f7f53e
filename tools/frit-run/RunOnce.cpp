//===- RunOnce.cpp - Run a model once and show its outputs ----------------===//

#include "Session.h"
#include "tools/support/Files.h"
#include "tools/support/JsonText.h"
#include "tools/support/Table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace frit::run;
using Json = nlohmann::ordered_json;

/// Elements shown per output.
static constexpr uint64_t kShown = 6;

static std::string formatElement(const Tensor &tensor, uint64_t index) {
  constexpr int kDigits = 5;
  return tensor.textOf(index, kDigits);
}

static void showOutputs(const Session &session) {
  Table table({"output", "type", "min", "max", "values"});
  for (const Tensor &tensor : session.outputs) {
    uint64_t count = tensor.count();
    bool isOrdered = count && !tensor.isString();
    auto [least, most] = isOrdered ? tensor.extremes() : std::pair(0ul, 0ul);
    std::string values;
    for (uint64_t i = 0; i < std::min(count, kShown); ++i)
      values += (i ? ", " : "") + formatElement(tensor, i);
    auto extreme = [&](uint64_t at) {
      return isOrdered
                 ? formatElement(tensor, at) + " at " + tensor.position(at)
                 : std::string("-");
    };
    table.add({tensor.name, tensor.type(), extreme(least), extreme(most),
               values + (count > kShown ? ", …" : "")});
  }
  table.print();
}

static void printOutputsJson(const Session &session) {
  Json outputs = Json::array();
  for (const Tensor &tensor : session.outputs) {
    Json values = Json::array();
    for (uint64_t i = 0, count = std::min<uint64_t>(tensor.count(), 1000);
         i < count; ++i)
      values.push_back(jsonElement(tensor, i));
    outputs.push_back({{"name", tensor.name},
                       {"type", tensor.type()},
                       {"first_values", std::move(values)}});
  }
  frit_device_info device = session.module.device();
  puts(jsonText({{"device", device.device}, {"outputs", std::move(outputs)}})
           .c_str());
}

int frit::run::runOnce(Session &session) {
  const Options &options = session.options;
  if (!session.run() || !session.cutOutputs())
    return session.status();
  if (options.timeReport)
    printTimeReport(session);
  if (!options.output.empty())
    if (Fault fault = writeTensors(options.output, session.outputs))
      return report(fault);
  if (!options.compare.empty())
    return compare(session) ? 0 : 1;
  if (options.json)
    printOutputsJson(session);
  else if (options.output.empty())
    showOutputs(session);
  return 0;
}
