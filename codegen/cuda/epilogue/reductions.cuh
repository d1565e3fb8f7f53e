//===- reductions.cuh - Statistics of a product's result ------------------===//

#ifndef FRIT_CODEGEN_CUDA_EPILOGUE_REDUCTIONS_CUH
#define FRIT_CODEGEN_CUDA_EPILOGUE_REDUCTIONS_CUH

#include "frit/column_moments.cuh"
#include "frit/column_sums.cuh"
#include "frit/row_dots.cuh"
#include "frit/row_moments.cuh"

#endif // FRIT_CODEGEN_CUDA_EPILOGUE_REDUCTIONS_CUH
