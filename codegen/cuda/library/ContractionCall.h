//===- ContractionCall.h - Contractions that a library computes -----------===//
// Products by cuBLASLt and convolutions by cuDNN. For problems of frit's tiled
// kernels, the library's call is the default and the kernel its fallback. For
// problems of frit's WGMMA kernels, the call is an alternative that tuning
// times.
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_LIBRARY_CONTRACTIONCALL_H
#define FRIT_CODEGEN_CUDA_LIBRARY_CONTRACTIONCALL_H

#include "codegen/cuda/contraction/Contraction.h"
#include "codegen/cuda/library/LibraryCall.h"

namespace frit::cuda {

/// A library's call of `Op`, which the fusion's `Info` describes.
template <class Attr, class Op, class Info>
class ContractionCall : public LibraryCallOf<Attr> {
public:
  nn::Legality offer(Problem &problem, const Machine &machine,
                     Offers &offers) const final {
    if (problem.kind() != Problem::Kind::contraction)
      return std::nullopt;
    if (!isUsed(machine) || checkCall(problem))
      return std::nullopt;
    auto call = Attr::get(problem.context(), /*algorithm=*/0,
                          *problem.decideOnce(chooseTiles, machine));
    if (prefersKernel(problem, *infoOf(problem), machine))
      offers.addAlternative(call);
    else
      offers.add(call);
    return std::nullopt;
  }
  bool takesChain(const Chain &chain, const Machine &machine) const final {
    return llvm::isa<Op>(chain.contraction()) && chain.epilogue &&
           isUsed(machine) && takes(*chain.epilogue);
  }

private:
  nn::Legality checkCall(Problem &problem) const final {
    const nn::Match<Info> &info = infoOf(problem);
    if (!info)
      return info.mismatch();
    if (!takes(info->epilogue))
      return nn::Mismatch("the library does not compute its epilogue");
    return std::nullopt;
  }
  virtual const nn::Match<Info> &infoOf(Problem &problem) const = 0;
  /// Returns whether the library computes a contraction with this epilogue.
  virtual bool takes(const nn::Epilogue &epilogue) const = 0;
  /// Returns whether calls of the library are wanted.
  virtual bool isUsed(const Machine &machine) const = 0;
  /// Returns whether frit's kernel is faster than the call.
  virtual bool prefersKernel(Problem &problem, const Info &info,
                             const Machine &machine) const = 0;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_LIBRARY_CONTRACTIONCALL_H
