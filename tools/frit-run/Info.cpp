//===- Info.cpp - Describe a model ----------------------------------------===//

#include "InfoJson.h"

#include "frit/printable.h"
#include "tools/support/JsonText.h"
#include "tools/support/Table.h"

#include <cstdio>

using namespace frit;
using namespace frit::run;

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
    puts(jsonText(infoJson(session), 2).c_str());
  else
    printTables(session);
  return 0;
}
