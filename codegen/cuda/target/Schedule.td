//===- Schedule.td - Base of all GPU schedules ----------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TARGET_SCHEDULE_TD
#define FRIT_CODEGEN_CUDA_TARGET_SCHEDULE_TD

include "mlir/IR/AttrTypeBase.td"
include "dialects/nn/Schedule.td"

def Cuda_Dialect : Dialect {
  let name = "cuda";
  let cppNamespace = "::frit::cuda";
  let summary = "Schedules of fusions on NVIDIA GPUs";
  let description = [{
    Each attribute is the schedule of one skeleton or library call: which kernel
    runs a fusion, with every number that its text and its launch depend on
    besides the problem's sizes. Set by the pass `schedule`; written by hand, it
    changes the kernel.
  }];
  let useDefaultAttributePrinterParser = 1;
}

/// A schedule. Its class identifies the skeleton.
class Cuda_Schedule<string name, string mnemonic_, list<Trait> traits = []>
    : AttrDef<Cuda_Dialect, name, !listconcat([NN_Schedule], traits)> {
  let mnemonic = mnemonic_;
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

/// The schedule of a contraction's kernel, whose parameters are its operands in
/// the order of their roles.
class Cuda_ContractionSchedule<string name, string mnemonic>
    : Cuda_Schedule<name, mnemonic> {
  let extraClassDeclaration = "bool ordersOperands() const { return true; }";
}

/// The schedule of a contraction's kernel that prefetches weights before the
/// PDL wait.
class Cuda_EarlyContractionSchedule<string name, string mnemonic>
    : Cuda_Schedule<name, mnemonic> {
  let extraClassDeclaration = [{
    bool ordersOperands() const { return true; }
    bool readsConstantsEarly() const { return true; }
  }];
}

/// A number of a schedule, and one that is not printed if it is `usual`.
class Number<string what> : AttrParameter<"int64_t", what>;
class NumberOr<string usual, string what>
    : DefaultValuedParameter<"int64_t", usual, what>;
/// The blocks of a persistent kernel: as many as run at a time, if there are
/// more tiles.
def Blocks
    : NumberOr<"0", "blocks of the launch, which divide the tiles among them; "
                    "0: as many as the tiles need">;
/// A flag, printed only if it is set.
class Choice<string what> : DefaultValuedParameter<"bool", "false", what>;

#endif // FRIT_CODEGEN_CUDA_TARGET_SCHEDULE_TD
