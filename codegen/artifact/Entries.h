//===- Entries.h - Entries of the tables of a plan ------------------------===//
//
// Filled by the compiler and by tests that write plans by hand. Must not
// include LLVM headers.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_ENTRIES_H
#define FRIT_CODEGEN_ARTIFACT_ENTRIES_H

#include "frit/artifact.h"

#include <vector>

namespace frit::artifact {

/// Entries of every table of a plan.
struct Entries {
  std::vector<int64_t> dims;
  std::vector<Function> functions;
  std::vector<State> states;
  std::vector<ShardedState> shards;
  std::vector<DerivedState> derived;
  std::vector<Symbol> symbols;
  std::vector<Extent> extents;
  std::vector<IndexRange> indices;
  std::vector<Variant> variants;
  std::vector<Tensor> inputs, outputs;
  std::vector<Constant> constants;
  std::vector<Buffer> buffers;
  std::vector<DeviceModule> modules;
  std::vector<Kernel> kernels;
  std::vector<TensorMap> tensorMaps;
  std::vector<Gemm> gemms;
  std::vector<Conv> convs;
  std::vector<Attention> attentions;
  std::vector<Guard> guards;
  std::vector<Step> steps;
  std::vector<uint32_t> follows;
  std::vector<Program> programs;
  std::vector<Target> targets;
  std::vector<Text> vocabulary;
  std::vector<StringProgram> stringPrograms;
  std::vector<StringStep> stringSteps;
  std::vector<StringOperand> stringOperands;

  /// Sets every table of `header` to what `placeTable` returns for its entries,
  /// in the order of a plan.
  template <typename Place>
  void place(Header &header, const Place &placeTable) const {
    header.dims = placeTable(dims);
    header.functions = placeTable(functions);
    header.states = placeTable(states);
    header.shards = placeTable(shards);
    header.derived = placeTable(derived);
    header.symbols = placeTable(symbols);
    header.extents = placeTable(extents);
    header.indices = placeTable(indices);
    header.variants = placeTable(variants);
    header.inputs = placeTable(inputs);
    header.outputs = placeTable(outputs);
    header.constants = placeTable(constants);
    header.buffers = placeTable(buffers);
    header.modules = placeTable(modules);
    header.kernels = placeTable(kernels);
    header.tensorMaps = placeTable(tensorMaps);
    header.gemms = placeTable(gemms);
    header.convs = placeTable(convs);
    header.attentions = placeTable(attentions);
    header.guards = placeTable(guards);
    header.steps = placeTable(steps);
    header.follows = placeTable(follows);
    header.programs = placeTable(programs);
    header.targets = placeTable(targets);
    header.vocabulary = placeTable(vocabulary);
    header.stringPrograms = placeTable(stringPrograms);
    header.stringSteps = placeTable(stringSteps);
    header.stringOperands = placeTable(stringOperands);
  }
};

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_ENTRIES_H
