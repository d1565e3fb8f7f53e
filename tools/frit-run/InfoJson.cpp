//===- InfoJson.cpp - Describe a model as JSON ----------------------------===//

#include "InfoJson.h"

#include <cstring>

using namespace frit;
using namespace frit::run;

std::string frit::run::typeOf(const Module &module,
                              const frit_tensor_info &info,
                              const int32_t *symbols, const int32_t *counts) {
  Tensor largest;
  largest.dtype = info.dtype;
  largest.dims.assign(info.dims, info.dims + info.rank);
  return openType(module, largest, symbols, counts);
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

Json frit::run::picksJson(const Session &session) {
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

Json frit::run::guardsJson(const Session &session) {
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

Json frit::run::infoJson(const Session &session) {
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
  return result;
}
