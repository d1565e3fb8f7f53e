//===- ArgumentAttributes.cpp - Attributes of arguments and results -------===//
//
// Passes tell each other what a function's arguments and results are by
// attributes `nn.…`. A misspelled one would be ignored, so unknown ones and
// ones of another type are errors.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/NN.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace frit::nn;

namespace {
/// An attribute of arguments or results.
struct Known {
  StringLiteral name;
  StringLiteral type; ///< for messages
  bool (*hasType)(Attribute);
};
} // namespace

template <typename... Types> static bool isOne(Attribute value) {
  return isa<Types...>(value);
}

static bool isCount(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isSignlessInteger(64) &&
         number.getInt() >= 0;
}

static bool isFinite(Attribute value) {
  auto number = dyn_cast<FloatAttr>(value);
  return number && number.getValue().isFinite();
}

template <typename Element> static bool isList(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, [](Attribute element) {
           return isa<Element>(element);
         });
}

static constexpr Known kName = {"nn.name", "a string", isOne<StringAttr>};
static constexpr Known kState = {"nn.state", "the symbol of a state",
                                 isOne<FlatSymbolRefAttr>};
static constexpr Known kStrings = {"nn.strings", "a unit", isOne<UnitAttr>};
static constexpr Known kIndices = {"nn.indices", "a list of dictionaries",
                                   isList<DictionaryAttr>};
static constexpr Known kStatistic = {"nn.statistic", "a string",
                                     isOne<StringAttr>};

/// Of arguments.
static constexpr Known kArguments[] = {
    kName,
    kState,
    kStrings,
    kIndices,
    kStatistic,
    {"nn.prepared", "the number of a result of @prepare", isCount},
    {"nn.symbols", "a list", isOne<ArrayAttr>},
    {"nn.computed", "a unit", isOne<UnitAttr>},
    {"nn.parameter", "a string", isOne<StringAttr>},
    {"nn.initial", "elements", isOne<ElementsAttr>},
    {"nn.multiplied", "a unit", isOne<UnitAttr>},
    {"nn.sparse", "a unit", isOne<UnitAttr>},
    {"nn.number", "a string", isOne<StringAttr>},
    {"nn.differentiate", "a unit", isOne<UnitAttr>},
    {"nn.steps", "a list of elements", isList<ElementsAttr>},
    {"nn.carried", "the number of a result", isCount},
};

/// Of results.
static constexpr Known kResults[] = {
    kName,
    kState,
    kStrings,
    kIndices,
    kStatistic,
    {"nn.momentum", "a finite float", isFinite},
    {"nn.count", "a unit", isOne<UnitAttr>},
    {"nn.extents", "a list", isOne<ArrayAttr>},
    {"nn.share", "a unit", isOne<UnitAttr>},
};

/// Checks an attribute of an argument or result `place` of `function`, which
/// has this type.
static LogicalResult verifyNote(Operation *function, ArrayRef<Known> known,
                                const Twine &place, Type type,
                                NamedAttribute attribute) {
  auto error = [&]() {
    return function->emitOpError()
           << place << ": '" << attribute.getName().getValue() << "' ";
  };
  const Known *found = llvm::find_if(known, [&](const Known &entry) {
    return entry.name == attribute.getName().getValue();
  });
  if (found == known.end())
    return error() << "is no attribute that it may have";
  if (!found->hasType(attribute.getValue()))
    return error() << "is " << attribute.getValue() << ", not " << found->type;
  if (auto initial = dyn_cast<ElementsAttr>(attribute.getValue());
      initial && initial.getType() != type)
    return error() << "is of type " << initial.getType()
                   << ", and the argument of " << type;
  if (attribute.getName() == "nn.carried") {
    int64_t result = cast<IntegerAttr>(attribute.getValue()).getInt();
    size_t results = cast<FunctionOpInterface>(function).getNumResults();
    if (uint64_t(result) >= results)
      return error() << "is " << result << ", and there are " << results
                     << " results";
  }
  auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue());
  auto module = function->getParentOfType<ModuleOp>();
  if (!symbol || !module)
    return success();
  auto state = module.lookupSymbol<StateOp>(symbol.getAttr());
  if (!state)
    return error() << "names " << symbol << ", which is no state of the module";
  if (state.getType() != type)
    return error() << "names " << symbol << ", a " << state.getType()
                   << ", and the type is " << type;
  return success();
}

LogicalResult NNDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned index,
                                                  NamedAttribute attribute) {
  return verifyNote(op, kArguments, "argument " + Twine(index),
                    cast<FunctionOpInterface>(op).getArgumentTypes()[index],
                    attribute);
}

LogicalResult NNDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned index,
                                                     NamedAttribute attribute) {
  return verifyNote(op, kResults, "result " + Twine(index),
                    cast<FunctionOpInterface>(op).getResultTypes()[index],
                    attribute);
}
