//===- MicroKernelAvx2.cpp - The inner loops for avx2 ---------------------===//

#include "runtime/cpu/kernels/MicroKernel.h"

#define FRIT_ISA avx2
#define FRIT_VECTOR_BYTES 32
#define FRIT_TILE_ROWS 4
#define FRIT_TILE_VECTORS 3
#define FRIT_PIXEL_VECTORS 2
#include "runtime/cpu/kernels/MicroKernel.inc"

#define FRIT_INTEGER_ROWS 4
#define FRIT_INTEGER_VECTORS 2
#include "runtime/cpu/kernels/IntegerKernel.inc"
