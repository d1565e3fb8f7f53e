//===- CudaTarget.cpp - What passes ask about NVIDIA GPUs
//---------------------===//

#include "codegen/cuda/CudaTarget.h"

#include "codegen/cuda/Emit.h"
#include "dialects/nn/ContractionInfo.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

bool CudaTarget::prefersChannelsLast(nn::ConvOp conv) const {
  auto type = nn::tensorType(conv.getX());
  Type element = type.getElementType();
  return type.getRank() == 4 && (element.isF16() || element.isBF16() ||
                                 (element.isF32() && conv.getTf32()));
}

/// Row kernels are made from what softmax and the norms decompose into.
bool CudaTarget::keepsWhole(nn::CompositeOp) const { return false; }

bool CudaTarget::takesEpilogue(ArrayRef<Operation *> fused,
                               Operation *next) const {
  using Kind = nn::ActivationKind;
  if (fused.empty())
    return false;
  SmallVector<Operation *> followers(fused.drop_front());
  followers.push_back(next);
  std::string reason;
  auto info = nn::describeEpilogue(fused[0], followers, reason);
  if (failed(info))
    return false;
  Type type = nn::tensorType(fused[0]->getResult(0)).getElementType();
  if (isa<nn::ConvOp>(fused[0]))
    return !options.cudnn || info->activation == Kind::none ||
           info->activation == Kind::relu;
  // cuBLASLt's GELU is the one with tanh.
  return !options.cublas || info->activation == Kind::none ||
         info->activation == Kind::relu ||
         (info->activation == Kind::geluTanh && !type.isF64());
}

nn::ScheduleAttr CudaTarget::schedule(nn::FusionOp fusion) const {
  bool contracts = false, reduces = false, transposes = false;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    contracts |= isa<nn::MatmulOp, nn::ConvOp>(op);
    reduces |= isa<nn::ReduceOp>(op);
    transposes |= isa<nn::TransposeOp>(op);
  }
  Lowered lowered(fusion);
  std::string reason;
  nn::ScheduleAttr schedule;
  if (contracts)
    schedule = scheduleContraction(fusion, options, reason);
  else if (reduces)
    schedule = scheduleRow(fusion, lowered, reason);
  else if (transposes)
    schedule = scheduleTranspose(fusion, lowered, reason);
  if (schedule)
    return schedule;
  schedule = scheduleMap(lowered);
  if (options.remarkMissed && !reason.empty() &&
      schedule.getSkeleton() == nn::Skeleton::generic)
    emitRemark(fusion.getLoc()) << "runs as a generic kernel: " << reason
                                << " [-Rpass-missed=schedule]";
  return schedule;
}
