//===- CpuDialect.td - The schedules of the cpu target ---------------------===//

include "mlir/IR/AttrTypeBase.td"
include "dialects/nn/Schedule.td"
include "dialects/plan/LibraryCall.td"

def Cpu_Dialect : Dialect {
  let name = "cpu";
  let cppNamespace = "::frit::cpu";
  let summary = "Schedules of fusions on CPUs";
  let description = [{
    Which code runs a fusion: loops, a product by codes, attention to a
    state, a kernel of the runtime, or a user's.
    The attributes have no parameters. Set by the pass `schedule`.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Cpu_Schedule<string name, string mnemonic_, list<Trait> traits = []>
    : AttrDef<Cpu_Dialect, name, !listconcat([NN_Schedule], traits)> {
  let mnemonic = mnemonic_;
}

/// A call of the runtime's own kernel, with operands in the order of their
/// roles.
class Cpu_CallSchedule<string name, string mnemonic_>
    : Cpu_Schedule<name, mnemonic_,
                   [DeclareAttrInterfaceMethods<Plan_LibraryCall>]> {
  let extraClassDeclaration = [{
    bool isLibraryCall() const { return true; }
    bool ordersOperands() const { return true; }
  }];
}

def Cpu_LoopsAttr : Cpu_Schedule<"Loops", "loops"> {
  let summary = "A loop nest that frit tiles and LLVM vectorises.";
}

def Cpu_CustomAttr : Cpu_Schedule<"Custom", "custom"> {
  let summary = "A call of a user's kernel.";
}

def Cpu_GemmAttr : Cpu_CallSchedule<"Gemm", "gemm"> {
  let summary = "The runtime's matrix product.";
}

def Cpu_CodedGemmAttr : Cpu_Schedule<"CodedGemm", "coded_gemm"> {
  let summary = "A matrix product that decodes its matrix in registers.";
}

def Cpu_RangedAttentionAttr
    : Cpu_Schedule<"RangedAttention", "ranged_attention"> {
  let summary = "Attention to the keys of a state that are in ranges.";
}

def Cpu_ConvAttr : Cpu_CallSchedule<"Conv", "conv"> {
  let summary = "The runtime's convolution.";
}

def Cpu_QuantizedConvAttr
    : Cpu_Schedule<"QuantizedConv", "quantized_conv",
                   [DeclareAttrInterfaceMethods<Plan_LibraryCall>]> {
  let summary = "The runtime's convolution or product of quantized tensors.";
  let extraClassDeclaration = "bool isLibraryCall() const { return true; }";
}
