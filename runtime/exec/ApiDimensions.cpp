//===- ApiDimensions.cpp - The C interface: open dimensions ---------------===//

#include "runtime/exec/Api.h"
#include "runtime/exec/Module.h"

#include <algorithm>

using namespace frit;

uint32_t frit_module_symbol_count(const frit_module *module) {
  return module ? uint32_t(module->symbolNames.size()) : 0;
}

frit_status frit_module_symbol(const frit_module *module, uint32_t index,
                               frit_symbol_info *info) {
  if (!module || !info)
    return nullArgument("frit_module_symbol");
  if (index >= module->symbolNames.size())
    return noSuchIndex("frit_module_symbol", index);
  const artifact::Symbol &symbol = module->model.plan.symbols()[index];
  const std::vector<int64_t> &sizes = module->symbolSizes[index];
  *info = {module->symbolNames[index].c_str(),
           symbol.least,
           symbol.most,
           symbol.padded != 0,
           uint32_t(sizes.size()),
           sizes.data(),
           /*masked=*/0,
           symbol.multiple};
  const PlanView &plan = module->model.plan;
  for (const artifact::Tensor &size :
       plan.inputs(0).last(plan.function().sizes))
    info->masked |= size.symbol == index;
  return FRIT_OK;
}

frit_status frit_module_input_symbols(const frit_module *module, uint32_t index,
                                      const int32_t **symbols) {
  if (!module || !symbols)
    return nullArgument("frit_module_input_symbols");
  if (index >= module->inputSymbols.size())
    return noSuchIndex("frit_module_input_symbols", index);
  *symbols = module->inputSymbols[index].data();
  return FRIT_OK;
}

frit_status frit_module_output_symbols(const frit_module *module,
                                       uint32_t index,
                                       const int32_t **symbols) {
  if (!module || !symbols)
    return nullArgument("frit_module_output_symbols");
  if (index >= module->outputSymbols.size())
    return noSuchIndex("frit_module_output_symbols", index);
  *symbols = module->outputSymbols[index].data();
  return FRIT_OK;
}

uint32_t frit_module_counts(const frit_module *module) {
  return module ? module->model.plan.function().counts : 0;
}

frit_status frit_module_output_counts(const frit_module *module, uint32_t index,
                                      const int32_t **counts) {
  if (!module || !counts)
    return nullArgument("frit_module_output_counts");
  if (index >= module->outputCounts.size())
    return noSuchIndex("frit_module_output_counts", index);
  *counts = module->outputCounts[index].data();
  return FRIT_OK;
}

frit_status frit_module_input_dims(const frit_module *module,
                                   const int64_t *sizes, uint32_t index,
                                   int64_t *dims) {
  if (!module)
    return nullArgument("frit_module_input_dims");
  const PlanView &plan = module->model.plan;
  if (index >= module->inputNames.size())
    return noSuchIndex("frit_module_input_dims", index);
  size_t rank = plan.inputs(0)[index].dims.count;
  if ((!sizes && !plan.symbols().empty()) || (!dims && rank))
    return nullArgument("frit_module_input_dims");
  Call call;
  return report(call.inputDims(plan, {sizes, plan.symbols().size()}, index,
                               {dims, rank}));
}

frit_status frit_module_output_dims(const frit_module *module,
                                    const frit_tensor *inputs,
                                    uint32_t input_count, uint32_t index,
                                    int64_t *dims) {
  if (!module || (!inputs && input_count))
    return nullArgument("frit_module_output_dims");
  if (index >= module->outputNames.size())
    return noSuchIndex("frit_module_output_dims", index);
  Call call;
  const PlanView &plan = module->model.plan;
  Status status = call.open(plan, module->inputNames, {inputs, input_count});
  std::span<const int64_t> found;
  if (!status.failed())
    status = call.outputDims(plan, index, found);
  if (!status.failed() && !dims && !found.empty())
    return nullArgument("frit_module_output_dims");
  if (!status.failed())
    std::ranges::copy(found, dims);
  return report(std::move(status));
}

uint32_t frit_module_variant_count(const frit_module *module) {
  return module ? uint32_t(module->model.plan.variants().size()) : 0;
}

frit_status frit_module_variant(const frit_module *module, uint32_t target,
                                uint32_t index, frit_variant_info *info) {
  if (!module || !info)
    return nullArgument("frit_module_variant");
  const PlanView &plan = module->model.plan;
  if (target >= plan.targets().size())
    return noSuchIndex("frit_module_variant", target);
  if (index >= plan.variants().size())
    return noSuchIndex("frit_module_variant", index);
  const artifact::Program &program =
      plan.programs(plan.targets()[target])[index];
  *info = {plan.sizes(index).data(), program.steps.count, program.arenaBytes,
           program.arenaLowerBound};
  return FRIT_OK;
}
