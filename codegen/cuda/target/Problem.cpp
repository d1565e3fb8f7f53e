//===- Problem.cpp - A fusion's problem, for skeletons --------------------===//

#include "codegen/cuda/target/Problem.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

bool frit::cuda::computesElementsAlone(Operation &op) {
  return !isa<nn::CompositeOp>(op) &&
         isa<nn::ElementwiseOp, nn::ConstantOp, nn::ReshapeOp, nn::TransposeOp,
             nn::ExpandOp, nn::SliceOp, nn::PadOp, nn::ConcatOp, nn::GatherOp,
             nn::GatherElementsOp, nn::IotaOp, nn::TriluOp, nn::UpdateOp>(op);
}

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
