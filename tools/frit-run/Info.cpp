//===- Info.cpp - Describe a model ----------------------------------------===//

#include "Session.h"
#include "frit/printable.h"
#include "tools/support/JsonText.h"
#include "tools/support/Table.h"

#include <cstdio>
#include <cstring>

using namespace frit;
using namespace frit::run;
using Json = nlohmann::ordered_json;

static std::string typeOf(const Module &module, const frit_tensor_info &info,
                          const int32_t *symbols,
                          const int32_t *counts = nullptr) {
  Tensor largest;
  largest.dtype = info.dtype;
  largest.dims.assign(info.dims, info.dims + info.rank);
  return openType(module, largest, symbols, counts);
}

/// Formats a symbol's sizes: "1..64" if calls are padded, or "64..512,
/// multiples of 32"; else "1, 8, 64".
static std::string sizesOf(const frit_symbol_info &symbol) {
  if (symbol.padded)
    return std::to_string(symbol.least) + ".." + std::to_string(symbol.most) +
           (symbol.multiple == 1
                ? ""
                : ", multiples of " + std::to_string(symbol.multiple));
  std::string text;
  for (uint32_t i = 0; i < symbol.size_count; ++i)
    text += (i ? ", " : "") + std::to_string(symbol.sizes[i]);
  return text;
}

static Json symbolsJson(const Module &module) {
  Json list = Json::array();
  for (uint32_t i = 0; i < module.symbolCount(); ++i) {
    frit_symbol_info symbol = module.symbol(i);
    list.push_back(
        {{"name", symbol.name},
         {"least", symbol.least},
         {"most", symbol.most},
         {"padded", bool(symbol.padded)},
         {"masked", bool(symbol.masked)},
         {"sizes",
          std::vector<int64_t>(symbol.sizes, symbol.sizes + symbol.size_count)},
         {"multiple", symbol.multiple}});
  }
  return list;
}

static Json variantsJson(const Module &module, uint32_t target) {
  Json list = Json::array();
  for (uint32_t i = 0; i < module.variantCount(); ++i) {
    frit_variant_info variant = module.variant(target, i);
    Json sizes = Json::object();
    for (uint32_t symbol = 0; symbol < module.symbolCount(); ++symbol)
      sizes[module.symbol(symbol).name] = variant.sizes[symbol];
    list.push_back({{"sizes", std::move(sizes)},
                    {"steps", variant.steps},
                    {"arena_bytes", variant.arena_bytes},
                    {"arena_lower_bound", variant.arena_lower_bound}});
  }
  return list;
}

static Json tensorsJson(const Session &session, bool inputs) {
  Json list = Json::array();
  uint32_t count =
      inputs ? session.module.inputCount() : session.module.outputCount();
  for (uint32_t i = 0; i < count; ++i) {
    frit_tensor_info info =
        inputs ? session.module.input(i) : session.module.output(i);
    Json entry = {
        {"name", info.name},
        {"dtype", frit_dtype_name(info.dtype)},
        {"shape", std::vector<int64_t>(info.dims, info.dims + info.rank)},
        {"bytes", info.bytes}};
    const Module &module = session.module;
    const int32_t *counts = inputs ? nullptr : module.outputCounts(i);
    if (module.symbolCount() || (counts && module.counts()))
      entry["type"] = typeOf(
          module, info,
          inputs ? module.inputSymbols(i) : module.outputSymbols(i), counts);
    if (inputs)
      for (const frit_index_range &range : module.indexRanges(i)) {
        Json box = {{"first", std::vector<int64_t>(range.first,
                                                   range.first + info.rank)},
                    {"sizes", std::vector<int64_t>(range.sizes,
                                                   range.sizes + info.rank)},
                    {"least", range.least},
                    {"most", range.most},
                    {"use", range.use}};
        if (range.other != range.least)
          box["other"] = range.other;
        entry["indices"].push_back(std::move(box));
      }
    if (counts && module.counts())
      entry["counts"] = std::vector<int32_t>(counts, counts + info.rank);
    list.push_back(std::move(entry));
  }
  return list;
}

/// Lists the algorithm of each library step of the chosen target.
static Json picksJson(const Session &session) {
  Json picks = Json::array();
  frit_context *context = session.context.get();
  for (uint32_t i = 0; i < frit_context_step_count(context); ++i) {
    frit_step_info step;
    if (frit_context_step(context, i, &step) == FRIT_OK &&
        (!strcmp(step.kind, "gemm") || !strcmp(step.kind, "conv") ||
         !strcmp(step.kind, "attention")))
      picks.push_back({{"step", i},
                       {"kind", step.kind},
                       {"node", step.node},
                       {"pick", step.kernel}});
  }
  return picks;
}

/// Lists the guards: their condition, and the cost of the steps they guard.
static Json guardsJson(const Session &session) {
  Json guards = Json::array();
  frit_context *context = session.context.get();
  for (uint32_t i = 0; i < frit_context_step_count(context); ++i) {
    frit_step_info guard;
    if (frit_context_step(context, i, &guard) != FRIT_OK ||
        strcmp(guard.kind, "guard"))
      continue;
    uint64_t bytes = 0, flops = 0;
    for (uint32_t held = 1; held <= guard.guarded; ++held) {
      frit_step_info step;
      if (frit_context_step(context, i + held, &step) != FRIT_OK)
        break;
      bytes += step.bytes;
      flops += step.flops;
    }
    guards.push_back({{"step", i},
                      {"node", guard.node},
                      {"steps", guard.guarded},
                      {"runs", guard.kernel},
                      {"bytes", bytes},
                      {"flops", flops}});
  }
  return guards;
}

static Json targetsJson(const Session &session) {
  Json list = Json::array();
  for (uint32_t i = 0; i < session.module.targetCount(); ++i) {
    frit_target_info target = session.module.target(i);
    Json entry = {{"arch", target.arch},
                  {"chosen", bool(target.chosen)},
                  {"steps", target.steps},
                  {"kernels_per_call", target.launches},
                  {"library_calls", target.library_calls},
                  {"copies", target.copies},
                  {"prepare_steps", target.prepare_steps},
                  {"arena_bytes", target.arena_bytes},
                  {"arena_lower_bound", target.arena_lower_bound},
                  {"prepared_bytes", target.prepared_bytes},
                  {"cubin_bytes", target.cubin_bytes},
                  {"ptx_bytes", target.ptx_bytes}};
    if (session.module.symbolCount())
      entry["variants"] = variantsJson(session.module, i);
    if (target.chosen && session.context.get()) {
      entry["picks"] = picksJson(session);
      entry["guards"] = guardsJson(session);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

static Json statesJson(const Module &module) {
  Json list = Json::array();
  for (uint32_t i = 0; i < module.stateCount(); ++i) {
    frit_tensor_info info = module.state(i);
    list.push_back(
        {{"name", info.name},
         {"dtype", frit_dtype_name(info.dtype)},
         {"shape", std::vector<int64_t>(info.dims, info.dims + info.rank)},
         {"bytes", info.bytes}});
  }
  return list;
}

static void printInfoJson(const Session &session) {
  frit_device_info device = session.module.device();
  Json result = {
      {"model", session.module.name()},
      {"inputs", tensorsJson(session, true)},
      {"outputs", tensorsJson(session, false)},
      {"weights_bytes", frit_module_weight_bytes(session.module.get())},
      {"targets", targetsJson(session)},
      {"device",
       {{"name", device.device},
        {"description", device.name},
        {"memory_bytes", device.memory_bytes},
        {"free_bytes", device.free_bytes},
        {"module_bytes", device.module_bytes},
        {"context_bytes", device.context_bytes},
        {"copy_bytes", device.copy_bytes},
        {"threads", device.threads}}}};
  if (session.module.functionCount() > 1) {
    Json names = Json::array();
    for (uint32_t i = 0; i < session.module.functionCount(); ++i)
      names.push_back(session.module.functionName(i));
    result["function"] = session.module.function();
    result["functions"] = std::move(names);
  }
  if (session.module.stateCount()) {
    result["states"] = statesJson(session.module);
    result["state_bytes"] = session.module.stateBytes();
    if (uint64_t divided = session.module.shardedStateBytes())
      result["sharded_state_bytes"] = divided;
  }
  if (session.module.symbolCount())
    result["symbols"] = symbolsJson(session.module);
  if (uint32_t counts = session.module.counts())
    result["counts"] = counts;
  puts(jsonText(result, 2).c_str());
}

static void printPicks(const Session &session) {
  frit_context *context = session.context.get();
  Table table({"step", "node", "runs on"});
  bool any = false;
  for (const auto &pick : picksJson(session)) {
    any = true;
    table.add({pick["kind"].get<std::string>(), pick["node"].get<std::string>(),
               pick["pick"].get<std::string>()});
  }
  if (!context || !any)
    return;
  puts("\nlibrary calls");
  table.print();
}

/// Abbreviates a list of nodes to the first one and the number of others.
static std::string firstNode(const std::string &nodes) {
  size_t end = nodes.find(", node '");
  if (end == std::string::npos)
    return nodes;
  size_t more = 0;
  for (size_t at = end; at != std::string::npos;
       at = nodes.find(", node '", at + 1))
    ++more;
  return nodes.substr(0, end) + " and " + std::to_string(more) + " more";
}

static void printGuards(const Session &session) {
  Json guards = guardsJson(session);
  if (guards.empty())
    return;
  Table table({">step", ">steps", ">moves", ">kFLOP", "run", "nodes"});
  for (const auto &guard : guards)
    table.add({guard["step"].dump(), guard["steps"].dump(),
               formatBytes(guard["bytes"]),
               std::to_string(guard["flops"].get<uint64_t>() / 1000),
               guard["runs"].get<std::string>(), firstNode(guard["node"])});
  puts("\nconditions");
  table.print();
}

/// Prints the symbolic dimensions, and the cost of each variant per target.
static void printVariants(const Module &module) {
  Table symbols({"open", "sizes", "variants", ""});
  for (uint32_t i = 0; i < module.symbolCount(); ++i) {
    frit_symbol_info symbol = module.symbol(i);
    std::string sizes = sizesOf(symbol);
    symbol.padded = 0;
    symbols.add({symbol.name, sizes, sizesOf(symbol),
                 symbol.masked ? "masked beyond a call's size" : ""});
  }
  symbols.print();
  puts("");
  std::vector<std::string> titles = {"target"};
  for (uint32_t i = 0; i < module.symbolCount(); ++i)
    titles.push_back(std::string(">") + module.symbol(i).name);
  for (const char *title : {">steps", ">arena", ">lower bound"})
    titles.push_back(title);
  Table table(titles);
  for (uint32_t target = 0; target < module.targetCount(); ++target)
    for (uint32_t i = 0; i < module.variantCount(); ++i) {
      frit_variant_info variant = module.variant(target, i);
      std::vector<std::string> row = {module.target(target).arch};
      for (uint32_t symbol = 0; symbol < module.symbolCount(); ++symbol)
        row.push_back(std::to_string(variant.sizes[symbol]));
      row.push_back(std::to_string(variant.steps));
      row.push_back(formatBytes(variant.arena_bytes));
      row.push_back(formatBytes(variant.arena_lower_bound));
      table.add(std::move(row));
    }
  table.print();
  puts("");
}

/// Prints the artifact's functions and state, unless it has a single function
/// without state.
static void printFunctions(const Module &module) {
  std::string names;
  for (uint32_t i = 0; i < module.functionCount(); ++i)
    names += (i ? ", " : "") + printable(module.functionName(i));
  if (module.functionCount() > 1)
    printf("functions: %s; below is %s\n", names.c_str(),
           printable(module.function()).c_str());
  if (uint32_t count = module.stateCount())
    printf("state: %u tensor%s, %s in each context\n", count,
           count == 1 ? "" : "s", formatBytes(module.stateBytes()).c_str());
  if (uint64_t divided = module.shardedStateBytes())
    printf("       ranks divide %s of it; each of 4 has %s in all\n",
           formatBytes(divided).c_str(),
           formatBytes(module.stateBytes() - divided + divided / 4).c_str());
  if (module.functionCount() > 1 || module.stateCount())
    puts("");
}

/// Formats the box of a tensor: "", or "[:, 3]".
static std::string boxText(const frit_index_range &range,
                           const frit_tensor_info &info) {
  std::string text;
  bool isWhole = true;
  for (uint32_t dim = 0; dim < info.rank; ++dim) {
    int64_t first = range.first[dim], end = first + range.sizes[dim];
    bool isAll = first == 0 && end == info.dims[dim];
    isWhole &= isAll;
    text += dim ? ", " : "";
    text += isAll ? ":" : std::to_string(first);
    if (!isAll && end != first + 1)
      text += ":" + std::to_string(end);
  }
  return isWhole ? "" : "[" + text + "]";
}

/// Prints which inputs are indices, and their ranges.
static void printIndices(const Module &module) {
  Table table({"indices", "from", "to", "because"});
  bool any = false;
  for (uint32_t i = 0; i < module.inputCount(); ++i)
    for (const frit_index_range &range : module.indexRanges(i)) {
      any = true;
      std::string most = std::to_string(range.most);
      if (range.other != range.least)
        most += ", or " + std::to_string(range.other);
      table.add({module.input(i).name + boxText(range, module.input(i)),
                 std::to_string(range.least), most, range.use});
    }
  if (!any)
    return;
  table.print();
  puts("");
}

static void printTables(const Session &session) {
  const Module &module = session.module;
  printf("%s: %s of weights\n\n", printable(module.name()).c_str(),
         formatBytes(frit_module_weight_bytes(module.get())).c_str());
  printFunctions(module);
  Table tensors({"", "name", "type", ">bytes"});
  for (uint32_t i = 0; i < module.inputCount(); ++i)
    tensors.add({"input", module.input(i).name,
                 typeOf(module, module.input(i), module.inputSymbols(i)),
                 formatBytes(module.input(i).bytes)});
  for (uint32_t i = 0; i < module.outputCount(); ++i)
    tensors.add({"output", module.output(i).name,
                 typeOf(module, module.output(i), module.outputSymbols(i),
                        module.outputCounts(i)),
                 formatBytes(module.output(i).bytes)});
  tensors.print();
  puts("");
  printIndices(module);
  if (uint32_t counts = module.counts())
    printf("sizes with <= depend on the data: on a GPU, a call waits for %u "
           "number%s of 8 bytes\nto be copied to the host before it copies "
           "outputs\n\n",
           counts, counts == 1 ? "" : "s");
  if (module.symbolCount())
    printVariants(module);
  Table targets({"target", ">kernels", ">library calls", ">copies", ">arena",
                 ">lower bound", ">prepared", ">cubin", ">PTX", ""});
  for (uint32_t i = 0; i < module.targetCount(); ++i) {
    frit_target_info target = module.target(i);
    targets.add(
        {target.arch, std::to_string(target.launches),
         std::to_string(target.library_calls), std::to_string(target.copies),
         formatBytes(target.arena_bytes), formatBytes(target.arena_lower_bound),
         formatBytes(target.prepared_bytes), formatBytes(target.cubin_bytes),
         formatBytes(target.ptx_bytes), target.chosen ? "<- runs here" : ""});
  }
  targets.print();
  frit_device_info device = module.device();
  if (!*device.name)
    return;
  printf("\n%s: %s, %s, %s free; the module holds %s, a context takes %s\n",
         device.device, device.name, formatBytes(device.memory_bytes).c_str(),
         formatBytes(device.free_bytes).c_str(),
         formatBytes(device.module_bytes).c_str(),
         formatBytes(device.context_bytes).c_str());
  if (device.copy_bytes)
    printf("     and up to %s more to copy inputs and outputs that calls give "
           "unaligned\n",
           formatBytes(device.copy_bytes).c_str());
  printPicks(session);
  printGuards(session);
}

int frit::run::info(Session &session) {
  if (session.options.json)
    printInfoJson(session);
  else
    printTables(session);
  return 0;
}
