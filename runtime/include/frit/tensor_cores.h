//===- tensor_cores.h - Rates of tensor cores -----------------------------===//
//
// What the compiler's costs and the runtime's profiles both know of a GPU's
// tensor cores.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TENSOR_CORES_H
#define FRIT_TENSOR_CORES_H

namespace frit {

/// Returns the FLOPs per cycle that an SM of this compute capability (90 for
/// 9.0) computes in dense products of 16-bit floats; 0 if unknown. By NVIDIA's
/// data sheets: FLOP/s by SMs and clock.
constexpr int tensorFlopsPerCycle(int capability) {
  switch (capability) {
  case 80:
  case 87:
    return 2048;
  case 86:
  case 88:
  case 89:
  case 120:
  case 121:
    return 1024;
  case 90:
    return 4096;
  case 100:
  case 103:
  case 110:
    return 8192;
  default:
    return 0;
  }
}

} // namespace frit

#endif // FRIT_TENSOR_CORES_H
