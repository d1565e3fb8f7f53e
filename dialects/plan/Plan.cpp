//===- Plan.cpp - The plan dialect ----------------------------------------===//

#include "dialects/plan/Plan.h"

#include "dialects/nn/NN.h"

#include "frit/dtype.h"
#include "frit/role_names.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace frit;
using namespace frit::plan;

#include "dialects/plan/Dialect.cpp.inc"

#include "dialects/plan/Enums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/plan/Attributes.cpp.inc"

#include "dialects/plan/StepInterface.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/plan/Plan.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/Plan.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/plan/Attributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

uint64_t frit::plan::byteSize(Type type) {
  auto shaped = cast<ShapedType>(type);
  uint64_t bits = shaped.getElementTypeBitWidth();
  return shaped.getNumElements() * std::max<uint64_t>(bits / 8, 1);
}

frit::artifact::DType frit::plan::dtypeOf(Type element) {
  using frit::artifact::DTypeRow;
  std::string spelling;
  llvm::raw_string_ostream(spelling) << element;
  auto type = frit::artifact::dtypeWith(&DTypeRow::ir, spelling);
  assert(findDType(type) && "nn has types that the runtime does not know");
  return type;
}

BufferOp frit::plan::rootOf(Value buffer, uint64_t *offset) {
  uint64_t total = 0;
  while (auto view = buffer.getDefiningOp<ViewOp>()) {
    total += view.getOffset();
    buffer = view.getSource();
  }
  if (offset)
    *offset = total;
  return buffer.getDefiningOp<BufferOp>();
}

static void collectNames(Location loc, llvm::SetVector<StringRef> &names) {
  TypeSwitch<LocationAttr>(loc)
      .Case([&](NameLoc l) { names.insert(l.getName().getValue()); })
      .Case([&](FusedLoc l) {
        for (Location inner : l.getLocations())
          collectNames(inner, names);
      })
      .Case([&](CallSiteLoc l) { collectNames(l.getCallee(), names); });
}

SmallVector<StringRef> frit::plan::nodesOf(Location loc) {
  llvm::SetVector<StringRef> names;
  collectNames(loc, names);
  return llvm::to_vector(names);
}

std::string frit::plan::nodeNames(Location loc) {
  return llvm::join(nodesOf(loc), ", ");
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kPrepare = "prepare", kDerive = "derive";

/// Returns the list of no function with this name, or null.
static CommandListOp findList(TargetOp target, StringRef name) {
  auto list = dyn_cast_or_null<CommandListOp>(
      mlir::SymbolTable::lookupSymbolIn(target, name));
  return list && !list.getFunction() ? list : CommandListOp();
}

CommandListOp TargetOp::getPrepare() { return findList(*this, kPrepare); }

CommandListOp TargetOp::getDerive() { return findList(*this, kDerive); }

SmallVector<CommandListOp> TargetOp::getMains() {
  auto lists = llvm::to_vector(getBody().getOps<CommandListOp>());
  llvm::erase_if(lists, [](CommandListOp list) { return !list.getFunction(); });
  return lists;
}

SmallVector<CommandListOp> TargetOp::getMains(StringRef function) {
  SmallVector<CommandListOp> lists = getMains();
  llvm::erase_if(lists, [&](CommandListOp list) {
    return *list.getFunction() != function;
  });
  return lists;
}

LogicalResult TargetOp::verify() {
  for (Operation &op : getBody().front())
    if (!isa<KernelOp, CommandListOp>(op))
      return op.emitOpError("may not stand in a plan.target");
  return success();
}

int64_t frit::plan::batchOf(Operation *fusion) {
  auto batch = fusion->getAttrOfType<IntegerAttr>(kBatch);
  return batch ? batch.getInt() : 1;
}

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (!llvm::hasSingleElement(block))
    return emitOpError("holds one nn.fusion and nothing else");
  auto fusion = dyn_cast<nn::FusionOp>(block.front());
  if (!fusion || !llvm::equal(fusion.getInputs(), block.getArguments()))
    return emitOpError("holds one nn.fusion of its block's arguments");
  if (getBatch() < 1 || getBatch() > kMostBatch)
    return emitOpError("takes ")
           << getBatch() << " sets of arguments, not 1 to " << kMostBatch;
  if (getSource() && getSymbol() && !getSourceAttr().getPreludes())
    return emitOpError("has a source of its own and that of '")
           << *getSymbol() << "'";
  unsigned pointers = fusion->getNumOperands() + fusion->getNumResults();
  if (getTensorMaps())
    for (auto map : getTensorMaps()->getAsRange<TensorMapAttr>())
      if (map.getValue().argument >= pointers)
        return emitOpError("has a tensor map of argument ")
               << map.getValue().argument << " and takes " << pointers;
  return success();
}

/// Returns whether byteSize() of a type is known.
static bool hasByteSize(Type type) {
  auto shaped = cast<ShapedType>(type);
  return shaped.hasStaticShape() && shaped.getElementType().isIntOrFloat();
}

LogicalResult FunctionOp::verify() {
  if (!artifact::functionRoleNamed(getRole()))
    return emitOpError("has no role '") << getRole() << "'";
  return success();
}

LogicalResult StateOp::verify() {
  if (!artifact::stateRoleNamed(getRole()))
    return emitOpError("has no role '") << getRole() << "'";
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !hasByteSize(type))
    return emitOpError("is a ") << getType() << ", not numbers of one shape";
  SmallVector<MemberAttr> members(getMembers().getAsRange<MemberAttr>());
  if (getDerivedFrom() && (!members.empty() || getSharded()))
    return emitOpError("is derived from another, so it has no members and no "
                       "shards");
  llvm::StringSet<> names;
  for (MemberAttr member : members) {
    auto fail = [&] {
      return emitOpError("member '") << member.getName() << "' ";
    };
    if (!names.insert(member.getName()).second)
      return fail() << "is there twice";
    if (!member.getType().hasStaticShape() ||
        member.getType().getElementType() != type.getElementType())
      return fail() << "is a " << member.getType() << ", the state a " << type;
    // Written so that nothing overflows.
    int64_t count = member.getType().getNumElements();
    if (member.getOffset() < 0 || count > type.getNumElements() ||
        member.getOffset() > type.getNumElements() - count)
      return fail() << "reaches past the end of the state";
  }
  llvm::stable_sort(members, [](MemberAttr a, MemberAttr b) {
    return a.getOffset() < b.getOffset();
  });
  int64_t end = 0;
  for (MemberAttr member : members) {
    if (member.getOffset() < end)
      return emitOpError("member '")
             << member.getName() << "' overlaps the one before it";
    end = member.getOffset() + member.getType().getNumElements();
  }
  return success();
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (FlatSymbolRefAttr from = getDerivedFromAttr()) {
    auto source = symbols.lookupNearestSymbolFrom<StateOp>(*this, from);
    if (!source || source.getDerivedFrom() || source.getSharded())
      return emitOpError("is derived from ")
             << from << ", which is no state that calls keep whole";
  }
  for (MemberAttr member : getMembers().getAsRange<MemberAttr>()) {
    if (!member.getInitial())
      continue;
    auto constant =
        symbols.lookupNearestSymbolFrom<ConstantOp>(*this, member.getInitial());
    if (!constant)
      return emitOpError("member '")
             << member.getName() << "' starts as " << member.getInitial()
             << ", which is no constant";
    if (cast<ElementsAttr>(constant.getValue()).getType() != member.getType())
      return emitOpError("member '")
             << member.getName() << "' is a " << member.getType() << ", "
             << member.getInitial() << " a "
             << cast<ElementsAttr>(constant.getValue()).getType();
  }
  return success();
}

/// Checks that the steps of a list follow earlier ones of their own block, or
/// the guard that they are in.
static LogicalResult verifyEdges(CommandListOp list) {
  SmallVector<Operation *> steps = stepsOf(list);
  for (auto [place, op] : llvm::enumerate(steps)) {
    DenseI64ArrayAttr follows = cast<StepOp>(op).getFollowsAttr();
    if (!follows)
      continue;
    if (!list.getFunction())
      return op->emitOpError("may not follow steps of its choice: prepare and "
                             "derive lists run in order");
    Operation *guard = op->getParentOp();
    if (follows.empty() && guard != list)
      return op->emitOpError("follows neither its guard nor a step in it");
    for (int64_t other : follows.asArrayRef()) {
      if (other < 0 || other >= int64_t(place))
        return op->emitOpError("follows steps before it, in their order");
      if (steps[other]->getBlock() != op->getBlock() && steps[other] != guard)
        return op->emitOpError("follows step ")
               << other << ", which is in a guard that this step is not in, or "
               << "outside of this step's guard";
    }
  }
  return success();
}

LogicalResult CommandListOp::verify() {
  bool isPrepare = getSymName() == kPrepare, isDerive = getSymName() == kDerive;
  if (!getFunction() && !isPrepare && !isDerive)
    return emitOpError("is of no function, so it is called '")
           << kPrepare << "' or '" << kDerive << "'";
  if (isPrepare && !getFunction())
    for (auto buffer : getBody().getOps<BufferOp>())
      if (buffer.getSpace() == Space::state)
        return buffer.emitOpError(
            "the prepare list runs before there is any state");
  if (isDerive && !getFunction())
    for (Operation *op : stepsOf(*this))
      if (!isa<LaunchOp, CopyOp>(op))
        return op->emitOpError("the derive list has launches and copies only");
  return verifyEdges(*this);
}

void ActivationAttr::print(AsmPrinter &printer) const {
  printer << " " << frit::kActivationNames[size_t(getValue())];
}

Attribute ActivationAttr::parse(AsmParser &parser, Type) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return {};
  const auto *name = llvm::find(frit::kActivationNames, std::string_view(word));
  if (name == std::end(frit::kActivationNames)) {
    parser.emitError(loc, "'") << word << "' is no activation";
    return {};
  }
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    frit::Activation(name - frit::kActivationNames));
}

LogicalResult
ActivationAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                       Activation value) {
  if (value >= Activation::other)
    return emitError() << "no library computes another activation";
  return success();
}

LogicalResult
OperandAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    unsigned, int64_t, DenseI64ArrayAttr strides) {
  if (!strides || strides.size() != 4)
    return emitError() << "an operand has four strides";
  return success();
}

LogicalResult BufferOp::verify() {
  bool byIndex = getSpace() == Space::input || getSpace() == Space::output;
  if (byIndex != getIndex().has_value())
    return emitOpError("inputs and outputs, and only they, have an index");
  bool byName = getSpace() == Space::constant || getSpace() == Space::state;
  if (byName != getSymbol().has_value())
    return emitOpError("constants and states, and only they, have a name");
  if (!hasByteSize(getBuffer().getType()))
    return emitOpError("a plan's buffers are numbers, and its shapes static");
  return success();
}

LogicalResult BufferOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto module = getOperation()->getParentOfType<ModuleOp>();
  if (getSpace() != Space::state || !module)
    return success();
  auto state = dyn_cast_or_null<StateOp>(
      symbols.lookupSymbolIn(module, getSymbolAttr()));
  if (!state)
    return emitOpError("'") << *getSymbol() << "' is no state of the module";
  auto whole = cast<RankedTensorType>(state.getType());
  auto type = cast<MemRefType>(getBuffer().getType());
  if (type.getShape() != whole.getShape() ||
      type.getElementType() != whole.getElementType())
    return emitOpError("state '") << *getSymbol() << "' is a " << whole;
  return success();
}

LogicalResult ViewOp::verify() {
  if (!hasByteSize(getView().getType()) || !hasByteSize(getSource().getType()))
    return emitOpError("a plan's buffers are numbers, and its shapes static");
  // Written so that nothing overflows.
  uint64_t view = byteSize(getView().getType());
  uint64_t source = byteSize(getSource().getType());
  if (view > source || getOffset() > source - view)
    return emitOpError("reaches past the end of its buffer");
  return success();
}
