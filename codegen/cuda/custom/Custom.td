//===- Custom.td - The schedule of users' kernels --------------------------===//

include "codegen/cuda/target/Schedule.td"

def Cuda_CustomAttr : Cuda_Schedule<"Custom", "custom"> {
  let summary = "A user's kernel, with the launch configuration of its node.";
  let parameters = (ins);
  let assemblyFormat = "";
  let genVerifyDecl = 0;
}
