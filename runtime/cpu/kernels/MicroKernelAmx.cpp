//===- MicroKernelAmx.cpp - The integer loops for AMX ---------------------===//

#include <immintrin.h>

#include "runtime/cpu/kernels/AmxKernel.inc"
