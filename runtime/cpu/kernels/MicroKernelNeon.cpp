//===- MicroKernelNeon.cpp - The inner loops for Arm ----------------------===//

#include "runtime/cpu/kernels/MicroKernel.h"

#define FRIT_ISA neon
#define FRIT_VECTOR_BYTES 16
#define FRIT_TILE_ROWS 8
#define FRIT_TILE_VECTORS 2
#define FRIT_PIXEL_VECTORS 4
#include "runtime/cpu/kernels/MicroKernel.inc"

#define FRIT_INTEGER_ROWS 8
#define FRIT_INTEGER_VECTORS 2
#include "runtime/cpu/kernels/IntegerKernel.inc"
