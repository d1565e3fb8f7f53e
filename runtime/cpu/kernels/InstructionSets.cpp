//===- InstructionSets.cpp - Choose the kernels of a processor ------------===//

#include "runtime/cpu/kernels/Gemm.h"
#include "runtime/cpu/kernels/QuantizedShape.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace frit;
using namespace frit::cpu;

#if defined(__x86_64__)

/// Asks the system for the registers of AMX, whose state is large. Returns
/// whether all threads may use them.
static bool requestTiles() {
#if defined(__linux__)
  constexpr long kRequestState = 0x1023, kTileData = 18;
  return __builtin_cpu_supports("amx-int8") &&
         syscall(SYS_arch_prctl, kRequestState, kTileData) == 0;
#else
  return false;
#endif
}

static size_t countIsas() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return 1;
  if (!__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl"))
    return 2;
  if (!__builtin_cpu_supports("avx512vnni"))
    return 3;
  return requestTiles() ? 5 : 4;
}

std::span<const Isa> frit::cpu::isas() {
  static constexpr Isa kAll[] = {Isa::sse2, Isa::avx2, Isa::avx512,
                                 Isa::avx512vnni, Isa::amx};
  static const size_t count = countIsas();
  return std::span(kAll).first(count);
}

const MicroKernel &frit::cpu::microKernel(Isa isa, Accumulator accumulator) {
  switch (isa) {
  case Isa::amx:
  case Isa::avx512vnni:
  case Isa::avx512:
    return avx512::microKernel(accumulator);
  case Isa::avx2:
    return avx2::microKernel(accumulator);
  default:
    return sse2::microKernel(accumulator);
  }
}

const IntegerKernel &quantized::integerKernel(Isa isa) {
  switch (isa) {
  case Isa::amx:
    return amx::integerKernel();
  case Isa::avx512vnni:
    return avx512vnni::integerKernel();
  case Isa::avx512:
    return avx512::integerKernel();
  case Isa::avx2:
    return avx2::integerKernel();
  default:
    return sse2::integerKernel();
  }
}

#else

std::span<const Isa> frit::cpu::isas() {
  static constexpr Isa kAll[] = {Isa::neon, Isa::i8mm};
  return std::span(kAll).first(getauxval(AT_HWCAP2) & HWCAP2_I8MM ? 2 : 1);
}

const MicroKernel &frit::cpu::microKernel(Isa, Accumulator accumulator) {
  return neon::microKernel(accumulator);
}

const IntegerKernel &quantized::integerKernel(Isa isa) {
  return isa == Isa::i8mm ? i8mm::integerKernel() : neon::integerKernel();
}

#endif
