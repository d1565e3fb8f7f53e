//===- MicroKernelVnni.cpp - The integer loops for avx512 with VNNI -------===//

#include "runtime/cpu/kernels/MicroKernel.h"

#define FRIT_ISA avx512vnni
#define FRIT_VECTOR_BYTES 64
#define FRIT_INTEGER_ROWS 12
#define FRIT_INTEGER_VECTORS 2
#define FRIT_QUADS
#include "runtime/cpu/kernels/IntegerKernel.inc"
