//===- PaddedPlaces.cpp - Places of a small tensor in a large one ---------===//

#include "compiler/padding/values/PaddedPlaces.h"

#include "llvm/ADT/STLExtras.h"

using namespace frit;

/// Drops parts of size 1, and merges a part of the same size in both tensors
/// into the part before it.
static DimPlaces normalize(const DimPlaces &dim) {
  DimPlaces result;
  for (SizePair part : dim) {
    if (part == SizePair{1, 1})
      continue;
    if (!result.empty() && part.small == part.large) {
      result.back().small *= part.small;
      result.back().large *= part.large;
      result.back().offset *= part.large;
    } else {
      result.push_back(part);
    }
  }
  if (result.empty())
    result.push_back({1, 1});
  return result;
}

std::optional<int64_t> frit::takePart(DimPlaces &reversed, int64_t length) {
  if (reversed.empty())
    reversed.push_back({1, 1});
  SizePair &next = reversed.back();
  int64_t inner = next.large / length;
  if (next.large % length || next.small % inner)
    return std::nullopt;
  int64_t small = next.small / inner;
  next = {inner, inner};
  if (inner == 1)
    reversed.pop_back();
  return small;
}

Places frit::leadingPlaces(llvm::ArrayRef<int64_t> small,
                           llvm::ArrayRef<int64_t> large) {
  Places places;
  for (auto [a, b] : llvm::zip_equal(small, large))
    places.push_back({{a, b}});
  return places;
}

bool frit::areLeading(const Places &places) {
  return llvm::all_of(places,
                      [](const DimPlaces &dim) { return isLeading(dim); });
}

bool frit::areSame(const DimPlaces &dim) {
  return llvm::all_of(dim,
                      [](SizePair part) { return part.small == part.large; });
}

bool frit::hasOffset(const DimPlaces &dim) {
  return llvm::any_of(dim, [](SizePair part) { return part.offset != 0; });
}

/// Elements are in lexicographic order of all parts, so any adjacent parts may
/// form a dimension. A part may be split if its inner part has the same size in
/// both, of which its offset is a multiple.
std::optional<Places> frit::reshapePlaces(const Places &places,
                                          llvm::ArrayRef<int64_t> small,
                                          llvm::ArrayRef<int64_t> large) {
  if (small.size() != large.size() || llvm::is_contained(small, 0) ||
      llvm::is_contained(large, 0))
    return std::nullopt;
  DimPlaces parts;
  for (const DimPlaces &dim : places)
    parts.append(dim);
  // Parts of the same size in both may be split differently.
  parts = normalize(parts);
  Places result;
  size_t next = 0;
  for (auto [a, b] : llvm::zip_equal(small, large)) {
    DimPlaces dim;
    SizePair done = {1, 1};
    while (done != SizePair{a, b}) {
      if (next == parts.size())
        return std::nullopt;
      SizePair &part = parts[next];
      if (part.small == 0 || part.large == 0)
        return std::nullopt;
      SizePair rest = {a / done.small, b / done.large};
      if (rest.small % part.small == 0 && rest.large % part.large == 0) {
        dim.push_back(part);
        done = {done.small * part.small, done.large * part.large};
        ++next;
        continue;
      }
      if (part.small % rest.small || part.large % rest.large ||
          part.small / rest.small != part.large / rest.large)
        return std::nullopt;
      int64_t inner = part.small / rest.small;
      if (part.offset % inner)
        return std::nullopt;
      rest.offset = part.offset / inner;
      dim.push_back(rest);
      done = {a, b};
      part = {inner, inner};
    }
    result.push_back(normalize(dim));
  }
  for (; next < parts.size(); ++next)
    if (parts[next] != SizePair{1, 1})
      return std::nullopt;
  return result;
}

std::string frit::placesText(const Places &places) {
  std::string text;
  for (const DimPlaces &dim : places) {
    text += "[";
    for (SizePair part : dim) {
      text += std::to_string(part.small) + ":" + std::to_string(part.large);
      text += part.offset ? "+" + std::to_string(part.offset) : "";
      text += ",";
    }
    text += "]";
  }
  return text;
}
