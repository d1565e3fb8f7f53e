//===- CacheBinder.h - Bind caches of an imported decoder to states -------===//

#ifndef FRIT_COMPILER_DECODER_CACHES_CACHEBINDER_H
#define FRIT_COMPILER_DECODER_CACHES_CACHEBINDER_H

#include "compiler/decoder/caches/Caches.h"
#include "compiler/decoder/caches/WrittenCaches.h"
#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace frit::decoder {

/// Builds one function of bindCaches. The first part, CacheInputs.cpp, finds
/// what the model has; the second, CacheBinder.cpp, replaces it.
class CacheBinder {
public:
  CacheBinder(mlir::func::FuncOp main, const CacheSizes &sizes,
              frit_function_role role)
      : main(main), batch(sizes.batch), context(sizes.context),
        tokens(sizes.tokens), places(sizes.places), role(role),
        b(main.getLoc(), &main.getBody().front().front()) {}

  llvm::LogicalResult run();

private:
  struct Cache {
    unsigned argument;
    mlir::Value all; ///< what the model reads: after the call
    int64_t axis;
    std::optional<WrittenCache> written; ///< one of a fixed size
  };

  /// The tokens of a call.
  struct Tokens {
    mlir::Value ids;         ///< what the model reads
    mlir::Value count, next; ///< how many count; null: one. The list's next
    mlir::Value list;        ///< all of them, with those of the call
  };
  using Outputs = llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>>;

  llvm::LogicalResult findInputs();
  llvm::LogicalResult findSource(mlir::BlockArgument argument);
  llvm::LogicalResult checkFound();
  llvm::LogicalResult findOutputs();
  llvm::LogicalResult checkCaches();
  llvm::LogicalResult checkPlaces();
  llvm::LogicalResult checkLogits();
  llvm::LogicalResult checkContext();
  llvm::LogicalResult addAppended(nn::ConcatOp all, llvm::StringRef name);
  llvm::LogicalResult addWritten(mlir::Value all, WrittenCache written,
                                 llvm::StringRef name);
  bool hasFixed() const { return caches.front().written.has_value(); }
  /// Keys of an attention, as the model has them.
  int64_t keyCount() const { return hasFixed() ? context : context + tokens; }
  mlir::Value addArgument(mlir::RankedTensorType type, llvm::StringRef name,
                          mlir::Attribute value);
  mlir::Value addInput(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                       int64_t most, const llvm::Twine &use);
  mlir::Value addState(llvm::StringRef name, mlir::RankedTensorType type,
                       frit_state_role stateRole);
  int64_t mostOf(unsigned argument, int64_t otherwise);
  void replace(unsigned argument, mlir::Value value);
  mlir::Value countTo(int64_t size);
  mlir::Value bind(Cache cache);
  mlir::Value readAppended(Cache cache, mlir::Value next);
  mlir::Value lastPlaces(mlir::Value count);
  mlir::Value lastRows(mlir::Value count);
  Tokens addTokens();
  void giveInputs(mlir::Value ids);
  void giveSource();
  Outputs answer(const Tokens &given);
  llvm::LogicalResult replaceInterface(const Outputs &outputs, unsigned old);
  llvm::LogicalResult hideEntries();
  mlir::InFlightDiagnostic error() { return emitError(main.getLoc()); }
  bool takesTokens() const { return role != FRIT_FUNCTION_DECODE; }
  llvm::StringRef nameOf(unsigned argument) {
    auto name = main.getArgAttrOfType<mlir::StringAttr>(argument, "nn.name");
    return name ? name.getValue() : "";
  }

  mlir::func::FuncOp main;
  int64_t batch, context, tokens, places;
  frit_function_role role;
  nn::NNBuilder b;
  std::optional<unsigned> ids, mask, sourceMask;
  std::vector<unsigned> positions; ///< all inputs of them are alike
  std::vector<unsigned> sources;   ///< what an encoder gives
  std::vector<Cache> caches;
  mlir::Value logits, length;
  nn::SliceOp last; ///< chooses the last token, if logits are of it alone
  /// Values after the call; null for a state that it does not write.
  llvm::SmallVector<std::pair<std::string, mlir::Value>> states;
};

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_CACHES_CACHEBINDER_H
