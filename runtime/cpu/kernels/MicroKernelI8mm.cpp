//===- MicroKernelI8mm.cpp - The integer loops for Arm with I8MM ----------===//

#include "runtime/cpu/kernels/MicroKernel.h"

#define FRIT_ISA i8mm
#define FRIT_VECTOR_BYTES 16
#define FRIT_INTEGER_ROWS 8
#define FRIT_INTEGER_VECTORS 2
#define FRIT_QUADS
#include "runtime/cpu/kernels/IntegerKernel.inc"
