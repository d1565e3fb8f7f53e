//===- EndStage.cpp - What a kernel does to a product's sums --------------===//

#include "dialects/nn/contraction/EndStage.h"

using namespace mlir;
using namespace frit::nn;
using frit::Activation;

SmallVector<Value, 2> frit::nn::operandsOf(const EndStage &one) {
  if (auto *load = std::get_if<stage::Load>(&one))
    return {load->value};
  if (auto *norm = std::get_if<stage::Norm>(&one))
    return {norm->moments, norm->column};
  return {};
}

Value Epilogue::loaded(stage::Load::Role role) const {
  for (const EndStage &one : stages)
    if (auto *load = std::get_if<stage::Load>(&one); load && load->role == role)
      return load->value;
  return nullptr;
}

Value Epilogue::stored(stage::Store::What what) const {
  for (const EndStage &one : stages)
    if (auto *store = std::get_if<stage::Store>(&one);
        store && store->what == what)
      return store->value;
  return nullptr;
}

const stage::Store *Epilogue::secondStore() const {
  for (const EndStage &one : stages)
    if (auto *store = std::get_if<stage::Store>(&one);
        store && store->what != stage::Store::What::result)
      return store;
  return nullptr;
}

Activation Epilogue::activation() const {
  auto *map = find<stage::Map>();
  return map ? map->activation : Activation::none;
}

bool Epilogue::isMixed() const {
  auto *map = find<stage::Map>();
  return map && map->isMixed;
}

bool Epilogue::isExtended() const {
  return find<stage::Gate>() || find<stage::Norm>() || find<stage::Reduce>() ||
         secondStore();
}

SmallVector<EndStage, 4> Epilogue::byKind() const {
  SmallVector<EndStage, 4> sorted = stages;
  llvm::stable_sort(sorted, [](const EndStage &a, const EndStage &b) {
    return a.index() < b.index();
  });
  return sorted;
}
