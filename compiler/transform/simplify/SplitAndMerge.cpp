//===- SplitAndMerge.cpp - A reshape in two steps -------------------------===//

#include "compiler/transform/simplify/SplitAndMerge.h"

#include <numeric>

using namespace frit;
using llvm::ArrayRef;

std::optional<SplitAndMerge> frit::factorReshape(ArrayRef<int64_t> from,
                                                 ArrayRef<int64_t> to,
                                                 bool keepOnes) {
  SplitAndMerge result;
  result.from.resize(from.size());
  result.to.resize(to.size());
  auto emit = [&](int64_t size) {
    result.fine.push_back(size);
    return static_cast<int64_t>(result.fine.size()) - 1;
  };
  size_t i = 0, j = 0;
  int64_t left = 0, right = 0; // rest of the current dimensions
  while (true) {
    if (left <= 1 && i < from.size()) {
      left = from[i++];
      if (left == 0)
        return std::nullopt;
      // A kept dimension of size 1 maps to the result's next dimension if that
      // is 1 too, else it joins the current result dimension.
      if (left == 1 && keepOnes && !to.empty()) {
        if (right <= 1 && j < to.size() && to[j] == 1)
          ++j;
        int64_t d = emit(1);
        result.from[i - 1].push_back(d);
        result.to[std::max<size_t>(j, 1) - 1].push_back(d);
      }
      continue;
    }
    if (right <= 1 && j < to.size()) {
      right = to[j++];
      if (right == 0)
        return std::nullopt;
      continue;
    }
    if (left <= 1 && right <= 1)
      return result;
    int64_t size = std::gcd(left, right);
    if (size != left && size != right)
      return std::nullopt;
    int64_t d = emit(size);
    result.from[i - 1].push_back(d);
    result.to[j - 1].push_back(d);
    left /= size;
    right /= size;
  }
}
