//===- Passes.td - The passes that make a training step, in order ---------===//

#ifndef FRIT_COMPILER_TRAINING_PASSES_TD
#define FRIT_COMPILER_TRAINING_PASSES_TD

include "compiler/transform/PassBase.td"

/// A pass of models that train. Its constructor takes TrainingOptions (see
/// Training.h).
class TrainingPass<string argument> : NNPass<argument> {
  let constructor = "made in Training.h";
}

def TrainingMode : TrainingPass<"training-mode"> {
  let summary = "Make dropout and batch norm what they are in training";
}

def AddLoss : TrainingPass<"add-loss"> {
  let summary = "Make weights arguments and the loss a result";
}

def ConvBatchNorms : TargetPass<"conv-batch-norms"> {
  let summary = "Differentiate pointwise convolutions with their batch norms";
}

// Compilation calls buildGradients() in AddOptimizer instead.
def Differentiate : NNPass<"differentiate"> {
  let summary = "Append the gradients of a function's first result with "
                "respect to arguments marked nn.differentiate";
}

def AddOptimizer : TrainingPass<"add-optimizer"> {
  let summary = "Compute gradients and update the weights that train";
}

def AttentionDeltas : TargetPass<"attention-deltas"> {
  let summary = "Compute the sums of y · dy that gradients of attention need";
}

def RecomputeWide : NNPass<"recompute-wide"> {
  let summary = "Recompute f32 values from 16-bit tensors at each use";
}

def StoreCasts : NNPass<"store-casts"> {
  let summary = "Keep the weights of a training step in 16 bits as well";
}

def AlignColumns : TargetPass<"align-columns"> {
  let summary = "Pad the columns of gradients' matrix products for TMA";
}

def Recompute : TrainingPass<"recompute"> {
  let summary = "Run the kernels of named nodes again in the backward pass";
}

#endif // FRIT_COMPILER_TRAINING_PASSES_TD
