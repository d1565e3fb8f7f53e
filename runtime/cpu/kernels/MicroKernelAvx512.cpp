//===- MicroKernelAvx512.cpp - The inner loops for avx512 -----------------===//

#include "runtime/cpu/kernels/MicroKernel.h"

#define FRIT_ISA avx512
#define FRIT_VECTOR_BYTES 64
#define FRIT_TILE_ROWS 12
#define FRIT_TILE_VECTORS 2
#define FRIT_PIXEL_VECTORS 4
#include "runtime/cpu/kernels/MicroKernel.inc"

#define FRIT_INTEGER_ROWS 12
#define FRIT_INTEGER_VECTORS 2
#include "runtime/cpu/kernels/IntegerKernel.inc"
