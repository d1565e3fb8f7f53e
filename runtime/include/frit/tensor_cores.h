//===- tensor_cores.h - Rates of tensor cores -----------------------------===//
//
// Peak rates of a GPU's tensor cores, for the compiler's cost model and the
// runtime's profiles.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TENSOR_CORES_H
#define FRIT_TENSOR_CORES_H

namespace frit {

/// Returns the FLOPs per cycle that an SM of this compute capability (90 for
/// 9.0) computes in dense products of 16-bit floats; 0 if unknown. Derived from
/// NVIDIA's data sheets: FLOP/s divided by the number of SMs and their clock.
constexpr int tensorFlopsPerCycle(int capability) {
  switch (capability) {
  case 75:
    return 1024; // f16 alone
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
