//===- Values.h - Random, stored and compared tensors ---------------------===//

#ifndef FRIT_TEST_EMULATOR_VALUES_H
#define FRIT_TEST_EMULATOR_VALUES_H

#include "frit/artifact.h"
#include "runtime/exec/Status.h"

#include <cstdint>
#include <string>

namespace frit::emulation {

/// Fills `count` elements: floats in [-1, 1), integers in [0, intLimit).
void fillRandom(void *data, artifact::DType type, uint64_t count, uint64_t seed,
                int intLimit);

/// |got - want| / |want| over all elements; |got| where `want` is all zeros.
/// NaN where any element is, and where bytes that should be 0 or 1 are not.
double relativeError(const void *got, const void *want, artifact::DType type,
                     uint64_t count);

/// Reads the array of the .npy file at `path`, which must be of that type and
/// size, row major and little endian. bf16 is stored as two raw bytes.
Status readNpy(const std::string &path, artifact::DType type, void *data,
               uint64_t bytes);

/// The same for array `name` of an .npz file that is not compressed.
Status readNpz(const std::string &path, const std::string &name,
               artifact::DType type, void *data, uint64_t bytes);

} // namespace frit::emulation

#endif // FRIT_TEST_EMULATOR_VALUES_H
