//===- Pools.cpp - Constants and states of several plans ------------------===//

#include "compiler/planning/Pools.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;
using namespace frit;
using namespace frit::planning;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Returns whether two large values have the same bytes.
static bool isSameData(ElementsAttr a, ElementsAttr b) {
  auto first = dyn_cast<DenseResourceElementsAttr>(a);
  auto second = dyn_cast<DenseResourceElementsAttr>(b);
  if (!first || !second || first.getType() != second.getType())
    return false;
  AsmResourceBlob *x = first.getRawHandle().getBlob();
  AsmResourceBlob *y = second.getRawHandle().getBlob();
  return x && y && x->getData().size() == y->getData().size() &&
         std::memcmp(x->getData().data(), y->getData().data(),
                     x->getData().size()) == 0;
}

/// Returns whether all elements of a large value are the same.
static bool isUniform(ElementsAttr value) {
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!blob)
    return true;
  ArrayRef<char> data = blob->getData();
  size_t element = data.size() / std::max<int64_t>(1, value.getNumElements());
  return !element || std::memcmp(data.data(), data.data() + element,
                                 data.size() - element) == 0;
}

/// Returns a weight of another function with the same bytes: exporters give
/// some weights of one model other names in each file. Weights of one function
/// stay apart, because a program may replace them, and so do weights of equal
/// elements, which may be equal by chance.
plan::ConstantOp ConstantPool::findEqual(plan::ConstantOp constant,
                                         StringRef function) {
  ElementsAttr value = constant.getValue();
  auto &own = ofFunction[function];
  if (ofFunction.size() == 1)
    return {};
  for (plan::ConstantOp other : byType[value.getType()])
    if (!own.contains(other.getSymNameAttr()) &&
        isSameData(other.getValue(), value) && !isUniform(value))
      return other;
  return {};
}

StringAttr ConstantPool::add(plan::ConstantOp constant, StringRef function) {
  StringAttr &known = byValue[constant.getValue()];
  if (!known) {
    SmallVector<plan::ConstantOp> &namesakes = byName[constant.getSymName()];
    for (plan::ConstantOp other : namesakes)
      if (isSameData(other.getValue(), constant.getValue()))
        known = other.getSymNameAttr();
    if (!known)
      if (plan::ConstantOp other = findEqual(constant, function))
        known = other.getSymNameAttr();
    if (!known) {
      namesakes.push_back(constant);
      byType[constant.getValue().getType()].push_back(constant);
      constant->remove();
      known = symbols.insert(constant);
    }
  }
  ofFunction[function].insert(known);
  return known;
}

void ConstantPool::take(ModuleOp from, StringRef function) {
  DenseMap<StringAttr, StringAttr> names;
  for (auto constant :
       llvm::make_early_inc_range(from.getOps<plan::ConstantOp>())) {
    StringAttr name = constant.getSymNameAttr();
    names[name] = add(constant, function);
  }
  from.walk([&](plan::BufferOp buffer) {
    if (buffer.getSpace() == plan::Space::constant)
      buffer.setSymbolAttr(names.lookup(buffer.getSymbolAttr()));
  });
  for (auto state : from.getOps<plan::StateOp>()) {
    SmallVector<Attribute> members;
    for (auto member : state.getMembers().getAsRange<plan::MemberAttr>()) {
      FlatSymbolRefAttr initial = member.getInitial();
      if (initial)
        initial = FlatSymbolRefAttr::get(names.lookup(initial.getAttr()));
      members.push_back(
          plan::MemberAttr::get(from.getContext(), member.getName(),
                                member.getOffset(), member.getType(), initial));
    }
    state.setMembersAttr(ArrayAttr::get(from.getContext(), members));
  }
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

LogicalResult StatePool::take(ModuleOp from) {
  DenseMap<StringAttr, StringAttr> names;
  auto take = [&](plan::StateOp state) -> LogicalResult {
    StringAttr name = state.getSymNameAttr();
    if (FlatSymbolRefAttr source = state.getDerivedFromAttr())
      state.setDerivedFromAttr(
          FlatSymbolRefAttr::get(names.lookup(source.getAttr())));
    plan::StateOp &known = byName[name];
    if (!known) {
      state->remove();
      symbols.insert(state);
      known = state;
    } else if (known.getType() != state.getType() ||
               known.getSharded() != state.getSharded() ||
               known.getRole() != state.getRole() ||
               known.getMembers() != state.getMembers() ||
               known.getDerivedFromAttr() != state.getDerivedFromAttr()) {
      InFlightDiagnostic error = state.emitError("state '")
                                 << name.getValue()
                                 << "' differs between functions or variants";
      error.attachNote(known.getLoc()) << "the other one is here";
      return error;
    }
    names[name] = known.getSymNameAttr();
    return success();
  };
  auto all = llvm::to_vector(from.getOps<plan::StateOp>());
  // Sources come first, so that their names are known.
  llvm::stable_sort(all, [](plan::StateOp a, plan::StateOp b) {
    return !a.getDerivedFrom() && b.getDerivedFrom();
  });
  for (plan::StateOp state : all)
    if (failed(take(state)))
      return failure();
  from.walk([&](plan::BufferOp buffer) {
    if (buffer.getSpace() == plan::Space::state)
      buffer.setSymbolAttr(names.lookup(buffer.getSymbolAttr()));
  });
  return success();
}
