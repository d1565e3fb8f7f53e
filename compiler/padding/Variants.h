//===- Variants.h - A model for several sizes of its open dimensions ------===//

#ifndef FRIT_COMPILER_PADDING_VARIANTS_H
#define FRIT_COMPILER_PADDING_VARIANTS_H

#include "compiler/padding/ImportMode.h"
#include "compiler/padding/Padding.h"
#include "compiler/padding/SymbolSizes.h"
#include "dialects/plan/OpenShapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <map>
#include <set>

namespace frit {

/// The model imported for each combination of sizes to compile, and the proof
/// that calls with other sizes may be padded up to one of them.
class Variants {
public:
  using Sizes = std::vector<int64_t>; ///< one per symbol
  using Import = std::function<mlir::OwningOpRef<mlir::ModuleOp>(
      const Sizes &sizes, const ImportMode &mode)>;

  Variants(llvm::ArrayRef<SymbolSizes> symbols, Import import,
           mlir::MLIRContext &context)
      : symbols(symbols.begin(), symbols.end()), import(std::move(import)),
        context(context) {}

  /// Imports and proves. Returns false after reporting errors.
  bool build();

  /// Returns the end of the name of a variant's command list: "_8x128".
  std::string suffix(size_t variant) const;
  /// Returns the sizes as text: "batch 8, seq 128".
  std::string sizesText(const Sizes &sizes) const;

  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules; ///< ascending
  plan::OpenShapes shapes;

private:
  using ShapeList = std::vector<llvm::SmallVector<int64_t>>;
  /// Shapes of an imported model.
  struct Shapes {
    ShapeList inputs, outputs;
    /// The least and most of each range of indices.
    ShapeList inputBounds, outputBounds;
  };
  /// A variant and its proof.
  struct Proof {
    mlir::OwningOpRef<mlir::ModuleOp> large;
    std::unique_ptr<PaddingProof> proof;
    /// Choices of the large model's import, which others follow.
    std::vector<int64_t> choices;
  };

  Sizes largest() const;
  /// Returns the smallest sizes of a variant that are at least `sizes`.
  Sizes variantFor(const Sizes &sizes) const;
  /// Return the number of sizes that a call may have for symbol `index`, and
  /// the size with a given number.
  int64_t servedCount(size_t index) const;
  int64_t servedSize(size_t index, int64_t number) const;
  bool isServed(const Sizes &sizes) const;
  /// Returns all combinations of one element of each list.
  static std::vector<Sizes> combine(const std::vector<Sizes> &lists);

  bool proveEach();
  bool proveJoins();
  bool provePlaces(const std::vector<bool> &varies, Mixing &mixing,
                   Sizes &failed);
  bool proveTogether();
  bool makeExact(size_t index, const Mixing &mixing, const Sizes &small);
  int64_t otherVariants(size_t index) const;
  int64_t leastServed(size_t index, int64_t size) const;
  std::map<Sizes, std::vector<Sizes>>
  chooseProofs(const std::vector<bool> &varies) const;
  std::optional<Mixing>
  proveVariant(const Sizes &large, llvm::ArrayRef<Sizes> served, Sizes &failed);
  std::optional<Mixing> prove(const std::vector<bool> &varies, Sizes &failed);
  void putMasks();
  bool importVariants();
  /// Returns whether the model can be imported with one symbol's size and the
  /// largest sizes of all others.
  bool imports(size_t index, int64_t size);
  /// Report what to give for a symbol instead of its range, after an error of
  /// the largest size: its largest size, the size in the file, or the multiples
  /// of a number. Return false if it is not found.
  bool explainMost(size_t index, const Mixing &error);
  bool explainTraced(size_t index, const Mixing &error);
  bool explainMultiple(const Mixing &error);
  void explainFailure(const Mixing &error);
  std::optional<int64_t> validMultiple(const std::vector<bool> &varies);
  std::string multiplesText(const std::vector<bool> &varies,
                            int64_t number) const;
  bool raiseLeast(size_t index, int64_t invalid);
  size_t findInvalid(const Sizes &sizes);
  std::optional<int64_t> leastValid(size_t index, int64_t invalid);
  std::string findRelation(size_t index, int64_t invalid);
  void reportInvalid(size_t index, const Mixing &mixing, const Sizes &small);
  /// Receives the choices of the import, or follows those of a variant's.
  mlir::OwningOpRef<mlir::ModuleOp>
  importQuietly(const Sizes &sizes, Mixing *failure = nullptr,
                std::vector<int64_t> *choices = nullptr,
                bool followsChoices = false);
  void record(const Sizes &sizes, mlir::ModuleOp module);

  void describeSymbols();
  void describeVariants();
  /// Says how the bounds of a tensor's indices depend on a call's sizes:
  /// indices may count the entries of an open dimension.
  mlir::ArrayAttr describeIndices(const Sizes &sizes, ShapeList Shapes::*list,
                                  size_t tensor, mlir::ArrayAttr indices) const;
  std::vector<llvm::SmallVector<plan::Extent>>
  inputExtents(const Sizes &sizes, mlir::ModuleOp module) const;
  plan::Extent extentOf(const Sizes &sizes, ShapeList Shapes::*list,
                        size_t tensor, size_t dim) const;
  SizeSamples sampleLengths(const Sizes &sizes, size_t output,
                            size_t dim) const;
  plan::Extent outputExtentOf(const Sizes &sizes, size_t output,
                              size_t dim) const;
  bool isLengthOf(const plan::Extent &extent, const Sizes &sizes, size_t output,
                  size_t dim) const;
  void countLengths();
  mlir::Value lengthOf(size_t variant, size_t output, size_t dim);
  mlir::Value sizeInput(mlir::func::FuncOp main, unsigned symbol) const;
  bool tellsInputs() const;
  bool areLengthsAmbiguous(const Sizes &sizes) const;
  std::optional<Sizes> findProbe(const Sizes &large,
                                 const PaddingMasks &masks) const;
  std::optional<size_t>
  findMisfit(const Sizes &sizes, ShapeList Shapes::*list,
             llvm::ArrayRef<llvm::SmallVector<plan::Extent>> extents) const;
  bool checkExtents();

  std::vector<SymbolSizes> symbols;
  Import import;
  mlir::MLIRContext &context;
  std::vector<bool> padded;
  /// Whether lists of two open sizes are joined, and all symbols are proved.
  bool joinsFixed = false;
  /// Whether imports compute places: tables failed, and this may not.
  bool computesPlaces = false;
  std::map<Sizes, Proof> proofs;
  std::map<Sizes, Shapes> known;
  /// Output and dimension of lengths that the model counts.
  std::set<std::pair<size_t, size_t>> counted;
};

} // namespace frit

#endif // FRIT_COMPILER_PADDING_VARIANTS_H
