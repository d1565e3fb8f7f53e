//===- Counts.cpp - Outputs whose size the data decide --------------------===//

#include "compiler/driver/Counts.h"

#include "compiler/import/Import.h"
#include "compiler/transform/Padding.h"
#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

using namespace mlir;
using namespace frit;
using artifact::Extent;

/// Numbers of entries that are proved of each count, evenly spread; and of all
/// counts at once.
static constexpr int64_t kMostProofs = 32, kMostTogether = 8;

static func::FuncOp mainOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("main");
}

static ArrayRef<int64_t> shapeOfType(Type type) {
  return cast<RankedTensorType>(type).getShape();
}

namespace {

class Counts {
public:
  Counts(ModuleOp module, ImportCounted import)
      : module(module), import(import), context(*module.getContext()) {}

  bool resolve();

private:
  using Sizes = SmallVector<int64_t>; ///< by number; -1: the most
  using Shapes = std::vector<SmallVector<int64_t>>;

  static Shapes shapesOf(ModuleOp module);
  bool prove(int64_t number, const Sizes &sizes);
  bool proveEach();
  bool proveTogether();
  bool proveAll();
  Sizes trueSizes(const Sizes &sizes) const;
  bool describe();
  std::optional<Extent> extentOf(size_t output, size_t dim);
  bool reject(int64_t number, Location reader, StringRef reason);
  void rewrite();

  ModuleOp module;
  ImportCounted import;
  MLIRContext &context;
  std::unique_ptr<PaddingProof> proof;
  /// The first result of every number.
  std::map<int64_t, nn::CountedOp> counted;
  size_t numbers = 0; ///< one past the last
  /// The outputs' shapes for all counts that were tried.
  std::vector<std::pair<Sizes, Shapes>> known;
  std::vector<SmallVector<Extent>> extents; ///< of each output
};

} // namespace

Counts::Shapes Counts::shapesOf(ModuleOp module) {
  Shapes shapes;
  for (Type type : mainOf(module).getResultTypes())
    shapes.emplace_back(shapeOfType(type));
  return shapes;
}

/// "node 'x' (ReduceSum, opset 21)", or "what follows".
static std::string nameOf(Location loc) {
  if (auto named = dyn_cast<NameLoc>(loc))
    return named.getName().str();
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return nameOf(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    if (!fused.getLocations().empty())
      return nameOf(fused.getLocations().front());
  return "what follows";
}

static int64_t mostOf(nn::CountedOp op) { return op.getSize(); }

bool Counts::reject(int64_t number, Location reader, StringRef reason) {
  nn::CountedOp op = counted.at(number);
  emitError(op.getLoc())
      << "the data decide how many results it has, and it cannot be compiled "
         "for the most there may be, "
      << mostOf(op) << ", as " << nameOf(reader) << " " << reason
      << fixInputsHint(op.getX());
  return false;
}

/// The counts, where all of them stand for the most.
Counts::Sizes Counts::trueSizes(const Sizes &sizes) const {
  Sizes result = sizes;
  for (auto [number, op] : counted)
    if (sizes[number] < 0)
      result[number] = mostOf(op);
  return result;
}

/// Proves the model for some counts, which are fewer of `number`.
bool Counts::prove(int64_t number, const Sizes &sizes) {
  OwningOpRef<ModuleOp> small;
  {
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
    small = import(sizes);
  }
  if (!small)
    return reject(number, UnknownLoc::get(&context),
                  "does not take " + std::to_string(sizes[number]));
  Shapes shapes = shapesOf(*small);
  if (std::optional<Mixing> mixing =
          proof->findMixing(*small, trueSizes(sizes)))
    return reject(number, mixing->loc, mixing->reason);
  known.push_back({sizes, std::move(shapes)});
  return true;
}

bool Counts::proveEach() {
  for (auto [number, op] : counted) {
    int64_t most = mostOf(op), tried = std::min(most, kMostProofs);
    // most - 1, ..., 1, 0: why some will not do says more than why none will.
    for (int64_t i = tried; i-- > 0;) {
      Sizes sizes(numbers, -1);
      sizes[number] = i < 2 || tried == most
                          ? i
                          : i * (most - 1) / std::max<int64_t>(tried - 1, 1);
      if (!prove(number, sizes))
        return false;
    }
  }
  return true;
}

/// Counts that may be any alone may be so together; that is proved too.
bool Counts::proveTogether() {
  if (counted.size() < 2)
    return true;
  for (int64_t i = 0; i < kMostTogether; ++i) {
    Sizes sizes(numbers, -1);
    int64_t step = 2 * i + 1, at = i;
    for (auto [number, op] : counted) {
      sizes[number] = 1 + at % std::max<int64_t>(mostOf(op) - 1, 1);
      at += step;
    }
    if (!prove(counted.begin()->first, sizes))
      return false;
  }
  return true;
}

/// What some counts ask for, all are proved with.
bool Counts::proveAll() {
  PaddingMasks &masks = proof->masks;
  for (size_t count = 0;; count = masks.size()) {
    known.clear();
    if (!proveEach() || !proveTogether())
      return false;
    if (masks.size() == count)
      break;
  }
  if (auto mixing = proof->findMisfit())
    return reject(counted.begin()->first, mixing->loc, mixing->reason);
  return true;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// The length of a dimension as the counts tell it, from where each is 0 and 1
/// alone; nothing where that does not tell the others.
std::optional<Extent> Counts::extentOf(size_t output, size_t dim) {
  int64_t length = shapesOf(module)[output][dim];
  auto lengthFor = [&](const Sizes &sizes) {
    auto found = llvm::find_if(
        known, [&](const auto &entry) { return entry.first == sizes; });
    bool isThere = found != known.end() && found->second[output].size() > dim;
    return isThere ? found->second[output][dim] : length;
  };
  Extent extent;
  for (auto [number, op] : counted) {
    Sizes none(numbers, -1), one = none;
    none[number] = 0;
    one[number] = mostOf(op) > 1 ? 1 : -1;
    int64_t offset = lengthFor(none), factor = lengthFor(one) - offset;
    if (factor != 0)
      extent = {artifact::kNone, uint32_t(number), factor, offset};
  }
  for (const auto &[sizes, shapes] : known) {
    int64_t expected = length;
    if (extent.count != artifact::kNone) {
      int64_t size = sizes[extent.count];
      size = size < 0 ? mostOf(counted.at(int64_t(extent.count))) : size;
      expected = std::min(length, extent.factor * size + extent.offset);
    }
    if (shapes[output].size() <= dim || shapes[output][dim] != expected)
      return std::nullopt;
  }
  return extent;
}

bool Counts::describe() {
  Shapes whole = shapesOf(module);
  for (auto [output, shape] : llvm::enumerate(whole)) {
    SmallVector<Extent> &list = extents.emplace_back();
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      std::optional<Extent> extent = extentOf(output, dim);
      if (!extent) {
        auto name =
            mainOf(module).getResultAttrOfType<StringAttr>(output, "nn.name");
        return reject(counted.begin()->first, UnknownLoc::get(&context),
                      ("makes output '" + (name ? name.getValue() : "") +
                       "' of another shape than its number times something")
                          .str());
      }
      list.push_back(*extent);
    }
  }
  return true;
}

void Counts::rewrite() {
  func::FuncOp main = mainOf(module);
  Operation *end = main.getBody().front().getTerminator();
  SmallVector<Value> results(end->getOperands());
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < results.size(); ++i)
    attributes.push_back(main.getResultAttrDict(i));
  Builder b(&context);
  std::map<uint32_t, int64_t> order;
  for (auto [output, list] : llvm::enumerate(extents)) {
    SmallVector<Attribute> dims;
    bool isCounted = false;
    for (const Extent &extent : list) {
      if (extent.count == artifact::kNone) {
        dims.push_back(b.getUnitAttr());
        continue;
      }
      auto [it, isNew] = order.try_emplace(extent.count, order.size());
      if (isNew) {
        results.push_back(counted.at(int64_t(extent.count)).getCount());
        attributes.push_back(b.getDictionaryAttr(
            {b.getNamedAttr("nn.name",
                            b.getStringAttr("count." + Twine(it->second))),
             b.getNamedAttr("nn.count", b.getUnitAttr())}));
      }
      dims.push_back(
          b.getDenseI64ArrayAttr({it->second, extent.factor, extent.offset}));
      isCounted = true;
    }
    if (!isCounted)
      continue;
    NamedAttrList all(attributes[output]);
    all.set("nn.extents", b.getArrayAttr(dims));
    attributes[output] = all.getDictionary(&context);
  }
  end->setOperands(results);
  main.setFunctionType(b.getFunctionType(main.getArgumentTypes(),
                                         ValueRange(results).getTypes()));
  main.setAllResultAttrs(attributes);
  SmallVector<nn::CountedOp> all;
  module.walk([&](nn::CountedOp op) { all.push_back(op); });
  for (nn::CountedOp op : all) {
    op.replaceAllUsesWith(op.getX());
    op.erase();
  }
}

bool Counts::resolve() {
  module.walk([&](nn::CountedOp op) {
    counted.try_emplace(op.getNumber(), op);
    numbers = std::max<size_t>(numbers, op.getNumber() + 1);
  });
  if (counted.empty())
    return true;
  proof = std::make_unique<PaddingProof>(module, trueSizes(Sizes(numbers, -1)));
  if (!proveAll() || !describe())
    return false;
  proof->masks.apply([&](unsigned number) -> Value {
    return counted.at(int64_t(number)).getCount();
  });
  rewrite();
  return true;
}

bool frit::resolveCounts(ModuleOp module, ImportCounted import) {
  return Counts(module, import).resolve();
}

//===----------------------------------------------------------------------===//
// What the attributes say
//===----------------------------------------------------------------------===//

/// The counts of @main, whose last results they are.
static unsigned numCounts(func::FuncOp main) {
  unsigned count = 0;
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    count += bool(main.getResultAttr(i, "nn.count"));
  return count;
}

/// Adds the counts of one variant's outputs.
static bool describeOutputs(func::FuncOp main, artifact::OpenVariant &variant,
                            ArrayRef<artifact::OpenSymbol> symbols) {
  variant.outputs.resize(main.getNumResults());
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    auto dims = main.getResultAttrOfType<ArrayAttr>(i, "nn.extents");
    if (!dims)
      continue;
    SmallVector<Extent> &extents = variant.outputs[i];
    extents.resize(dims.size());
    for (auto [extent, dim] : llvm::zip_equal(extents, dims)) {
      auto counted = dyn_cast<DenseI64ArrayAttr>(dim);
      if (!counted)
        continue;
      // Calls of a size that is compiled have all of the dimension.
      if (extent.symbol != artifact::kNone && symbols[extent.symbol].padded) {
        emitError(main.getLoc())
            << "a dimension of an output depends on the data and on '"
            << symbols[extent.symbol].name << "'; list the sizes of that";
        return false;
      }
      extent = {artifact::kNone, uint32_t(counted[0]), counted[1], counted[2]};
    }
  }
  return true;
}

bool frit::describeCounts(ArrayRef<OwningOpRef<ModuleOp>> modules,
                          artifact::OpenShapes &shapes) {
  if (modules.empty())
    return true;
  shapes.counts = numCounts(mainOf(*modules.front()));
  if (shapes.counts == 0)
    return true;
  if (shapes.variants.empty())
    shapes.variants.emplace_back();
  for (auto [module, variant] : llvm::zip_equal(modules, shapes.variants)) {
    func::FuncOp main = mainOf(*module);
    if (numCounts(main) != shapes.counts) {
      emitError(main.getLoc())
          << "the data decide about more outputs in some variants than in "
             "others; list sizes for which they are the same";
      return false;
    }
    if (!describeOutputs(main, variant, shapes.symbols))
      return false;
  }
  return true;
}
