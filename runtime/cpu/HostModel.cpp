//===- HostModel.cpp - A function of an artifact on the host --------------===//

#include "runtime/cpu/HostModel.h"

#include <algorithm>

using namespace frit;
using namespace frit::cpu;

ScratchSize HostModel::callScratch(Isa isa, unsigned threads) const {
  ScratchSize size;
  for (size_t variant = 0; variant < model.plan.variants().size(); ++variant)
    size.include(scratchOf(model.plan, model.steps(variant), isa, threads));
  return size;
}

uint64_t HostModel::contextBytes() const {
  unsigned threads = threadCount(model);
  uint64_t bytes =
      addSizes(addSizes(alignedBytes(model.plan.arenaBytes(*model.target)),
                        callScratch(bestIsa(), threads).total(threads)),
               model.plan.header().stateBytes);
  for (size_t i = modelInputs(); i < model.plan.inputs(0).size(); ++i)
    bytes = addSizes(bytes, model.inputBytes(i));
  for (size_t i = modelOutputs(); i < model.plan.outputs(0).size(); ++i)
    bytes = addSizes(bytes, model.outputBytes(i));
  return bytes;
}

uint64_t HostModel::copyBytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < modelInputs(); ++i)
    bytes = addSizes(bytes, model.inputBytes(i));
  for (size_t i = 0; i < modelOutputs(); ++i)
    bytes = addSizes(bytes, model.outputBytes(i));
  return bytes;
}
