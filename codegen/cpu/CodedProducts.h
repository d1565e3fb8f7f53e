//===- CodedProducts.h - Products by matrices of few bits -----------------===//

#ifndef FRIT_CODEGEN_CPU_CODEDPRODUCTS_H
#define FRIT_CODEGEN_CPU_CODEDPRODUCTS_H

#include "dialects/nn/contraction/Contraction.h"
#include "dialects/nn/operators/Quantized.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit::cpu {

/// Returns why no kernel computes a product by codes, whose numbers it reads
/// from the packed bytes, for any number of rows of A.
nn::Legality checkCodedProduct(nn::MatmulOp product);

/// Creates the function `name`, which computes a fusion of an nn.dequantize and
/// the product that reads it. It takes memrefs of the operands and the result
/// and the bounds of work items, whose number is its attribute `cpu.items`; an
/// item is some columns of the result. `arch` is one of frit/host_arch.h.
///
/// Each element of the result is a sum of as many parts as a vector has lanes,
/// in the order of the columns, whatever the number of rows of A: the rows of
/// a batch are what they are alone.
mlir::func::FuncOp createCodedProduct(nn::FusionOp fusion, llvm::StringRef name,
                                      llvm::StringRef arch,
                                      mlir::OpBuilder &builder);

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_CODEDPRODUCTS_H
