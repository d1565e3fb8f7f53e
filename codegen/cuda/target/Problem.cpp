//===- Problem.cpp - A fusion's problem, for skeletons --------------------===//

#include "codegen/cuda/target/Problem.h"

using namespace frit;
using namespace frit::cuda;

const LinalgFusion &Problem::lowered() {
  if (!linalg)
    linalg.emplace(fusion());
  return *linalg;
}

const nn::Match<nn::Schedule> &Problem::decideOnce(Decide *decide,
                                                   const Machine &machine) {
  auto found = decisions.find(decide);
  if (found == decisions.end())
    found = decisions.try_emplace(decide, decide(*this, machine)).first;
  return found->second;
}
