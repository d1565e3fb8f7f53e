//===- Precision.cpp - Report where 16 bits lose numbers ------------------===//
//
// Runs a model and its shadow, the same model computed in f32, step by step.
// Both are best compiled with -O0, which gives a kernel per operator. A node is
// reported if the model's storage type cannot represent the shadow's numbers,
// but not because its inputs are already wrong.
//
//===----------------------------------------------------------------------===//

#include "Precision.h"

#include "KeepList.h"
#include "compiler/support/OutputFile.h"
#include "tools/support/Files.h"
#include "tools/support/JsonText.h"
#include "tools/support/Table.h"

#include <algorithm>
#include <cmath>
#include <string_view>

using namespace frit::run;

static void printTable(const PrecisionComparison &found) {
  Table table({"node", "tensor", "type", "error", "rounding", "least",
               "largest", "overflows", "underflows"});
  for (const PrecisionRow &row : found.rows)
    table.add({row.node, row.tensor, row.type, text("%.1e", row.error),
               text("%.1e", row.rounding), text("%.3g", row.least),
               text("%.3g", row.largest), std::to_string(row.over),
               std::to_string(row.under)});
  table.print();
  if (found.narrow)
    printf("%llu tensors are stored in 16 bits by the shadow, too\n",
           (unsigned long long)found.narrow);
  if (found.alone)
    printf("%llu results have no counterpart: compile both with -O0\n",
           (unsigned long long)found.alone);
}

static void printJson(const PrecisionComparison &found) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const PrecisionRow &row : found.rows)
    list.push_back({{"node", row.node},
                    {"tensor", row.tensor},
                    {"type", row.type},
                    {"error", row.error},
                    {"rounding", row.rounding},
                    {"least", row.least},
                    {"largest", row.largest},
                    {"overflows", row.over},
                    {"underflows", row.under},
                    {"keep", row.isToBlame}});
  puts(frit::tools::jsonText({{"results", std::move(list)},
                              {"narrow_in_shadow", found.narrow},
                              {"without_counterpart", found.alone}})
           .c_str());
}

/// Explains why no tensor could be compared.
static int nothingCompared(const PrecisionComparison &found,
                           const Session &model, const Session &shadow) {
  std::string name = "'" + model.options.model + "'",
              other = "'" + shadow.options.model + "'";
  if (found.narrow)
    complain(other + " is no shadow of " + name + ": it computes in " +
             frit_dtype_name(found.shadowType) + " what " + name +
             " computes in " + frit_dtype_name(found.modelType) +
             "; compile it with -fprecision=fp32");
  else if (found.alone)
    complain("no result has a counterpart in " + other +
             ": is it the same model? Compile both with -O0");
  else
    complain(name + " stores no result in 16 bits");
  return kBadInput;
}

/// Reads the factor of a training step's gradients: 1 without loss scaling, and
/// for functions that compute no gradients.
static bool readLossScale(Session &session, double &scale) {
  scale = 1;
  if (session.module.role() != FRIT_FUNCTION_TRAIN_STEP)
    return true;
  for (uint32_t i = 0; i < session.module.stateCount(); ++i) {
    if (session.module.stateRole(i) != FRIT_STATE_LOSS_SCALE)
      continue;
    frit_tensor_info info = session.module.state(i);
    Tensor number{info.name, info.dtype, {}, {}};
    allocate(number);
    frit_tensor bound = number.bind();
    if (frit::Error error = session.context.readState({&bound, 1}))
      return session.failed(error);
    scale = number.at(0);
  }
  return true;
}

/// Checks that gradients have the same factor in both.
static bool checkLossScales(Session &model, Session &shadow) {
  double factor, other;
  if (!readLossScale(model, factor) || !readLossScale(shadow, other))
    return false;
  if (factor == other)
    return true;
  return complain(text("'%s' is no shadow of '%s': it scales the loss by %g, "
                       "and not by %g, so gradients differ by that; compile "
                       "it with the same train.json, the same -fprecision= "
                       "and -fkeep-fp32=all.txt, a file that says *",
                       shadow.options.model.c_str(),
                       model.options.model.c_str(), other, factor));
}

int frit::run::precision(Session &session) {
  Options ofShadow = session.options;
  ofShadow.model = session.options.shadow;
  Session shadow(ofShadow);
  if (!shadow.openModule() || !shadow.prepareTensors() || !shadow.openContext())
    return shadow.status();
  PrecisionComparison found;
  if (!checkLossScales(session, shadow) || !found.run(session, shadow))
    return std::max(session.status(), shadow.status());
  if (found.rows.empty())
    return nothingCompared(found, session, shadow);
  KeepList kept;
  for (const PrecisionRow &row : found.rows)
    if (row.isToBlame)
      kept.add(row.node);
  if (session.options.json)
    printJson(found);
  else
    printTable(found);
  const std::string &keep = session.options.keep;
  if (!keep.empty())
    if (int status =
            report(writingFault(keep, frit::writeFile(keep, kept.text()))))
      return status;
  bool isFinite = std::ranges::all_of(
      found.rows, [](const PrecisionRow &row) { return row.error < HUGE_VAL; });
  if (!isFinite && kept.text().empty()) {
    complain("some results are not finite, but 16 bits hold every number that "
             "was compared: compile both with -O0");
    return kBadInput;
  }
  return kDone;
}
