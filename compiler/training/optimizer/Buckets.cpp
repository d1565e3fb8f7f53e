//===- Buckets.cpp - Parameters in a few flat states ----------------------===//

#include "compiler/training/optimizer/Buckets.h"

#include "compiler/training/Arguments.h"
#include "compiler/training/gradients/AlignColumns.h"
#include "compiler/transform/Names.h"
#include "compiler/transform/sparse/Sparsity.h"

#include "llvm/Support/MathExtras.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns the bucket size that padded reads of the member need: products may
/// read a matrix with its rows rounded up to kRowMultiple. 0 if the member is
/// never padded.
static int64_t readEnd(const BucketMember &member) {
  ArrayRef<int64_t> shape = member.type.getShape();
  if (shape.size() != 2 || shape[0] < kFewColumns)
    return 0;
  return member.offset +
         int64_t(llvm::alignTo(shape[0], kRowMultiple)) * shape[1];
}

/// Returns the first group whose patterns match a name; their number if none
/// does.
static size_t groupOf(StringRef name, const OptimizerOptions &optimizer) {
  return llvm::find_if(optimizer.groups,
                       [&](const ParameterGroup &group) {
                         return matchesAny(group.match, name);
                       }) -
         optimizer.groups.begin();
}

std::vector<Bucket> frit::makeBuckets(func::FuncOp main, StringRef kind,
                                      const OptimizerOptions &optimizer,
                                      BucketRule rule) {
  std::vector<Bucket> buckets;
  auto close = [&](Bucket &bucket) {
    if (bucket.members.empty())
      return;
    bucket.index = buckets.size();
    for (const BucketMember &member : bucket.members)
      bucket.size = std::max(bucket.size, readEnd(member));
    bucket.size = llvm::alignTo(bucket.size, kBucketRow);
    buckets.push_back(std::move(bucket));
  };
  // Open buckets, by [group; those in none first][decays][apart][sparse].
  std::map<std::tuple<size_t, bool, bool, bool>, Bucket> open;
  size_t none = optimizer.groups.size();
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto name = main.getArgAttrOfType<StringAttr>(index, kind);
    if (!name)
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    bool decays = !matchesAny(optimizer.noDecay, name);
    bool apart = rule.multipliedApart && main.getArgAttr(index, kMultiplied);
    bool isSparse = bool(main.getArgAttr(index, kSparse));
    size_t number = groupOf(name, optimizer);
    ParameterGroup group =
        number == none ? ParameterGroup() : optimizer.groups[number];
    Bucket &bucket =
        open[{number == none ? 0 : number + 1, !decays, apart, isSparse}];
    int64_t offset = llvm::alignTo(bucket.size, kMemberAlignment);
    int64_t most = buckets.empty() ? rule.mostInFirst : rule.mostInOthers;
    if (offset && type.getNumElements() > most - offset) {
      close(bucket);
      bucket = Bucket();
      offset = 0;
    }
    bucket.decay =
        decays ? group.weightDecay.value_or(optimizer.weightDecay) : 0;
    bucket.rateFactor = group.rateFactor;
    bucket.multiplied = apart;
    bucket.keepsZeros = isSparse;
    bucket.members.push_back(
        {argument, name, type,
         main.getArgAttrOfType<ElementsAttr>(index, "nn.initial"), offset});
    bucket.size = offset + type.getNumElements();
  }
  for (auto &[key, bucket] : open)
    close(bucket);
  return buckets;
}

/// Adds the state `PREFIX.INDEX` with the bucket's members, which are called
/// `MEMBER/SUFFIX` if there is one, and zeros unless `isInitial`.
static Value addState(States &states, const Bucket &bucket,
                      frit_state_role role, StringRef prefix, StringRef suffix,
                      bool isInitial, bool sharded) {
  SmallVector<MemberAttr> members;
  for (const BucketMember &member : bucket.members) {
    StringAttr name = member.name;
    if (!suffix.empty())
      name = StringAttr::get(name.getContext(), name.getValue() + "/" + suffix);
    members.push_back(
        MemberAttr::get(name.getContext(), name, member.offset, member.type,
                        isInitial ? member.initial : ElementsAttr()));
  }
  Type element = bucket.members.front().type.getElementType();
  return states.add((prefix + "." + Twine(bucket.index)).str(), role,
                    RankedTensorType::get({bucket.size}, element), members,
                    sharded);
}

Value frit::addBucket(States &states, const Bucket &bucket,
                      frit_state_role role, StringRef prefix, StringRef suffix,
                      bool sharded) {
  return addState(states, bucket, role, prefix, suffix, suffix.empty(),
                  sharded);
}

Value frit::addAverages(States &states, const Bucket &bucket) {
  return addState(states, bucket, FRIT_STATE_OTHER, "averages", "ema",
                  /*isInitial=*/true, /*sharded=*/false);
}

Value frit::memberOf(NNBuilder &b, Value bucket, const BucketMember &member) {
  Value part =
      SliceOp::create(b, bucket, member.offset, member.type.getNumElements(),
                      ArrayRef<int64_t>{1});
  return b.reshape(part, member.type.getShape());
}

Value frit::packMembers(NNBuilder &b, const Bucket &bucket,
                        ArrayRef<Value> values) {
  SmallVector<Value> parts;
  SmallVector<int64_t> offsets;
  for (auto [member, value] : llvm::zip_equal(bucket.members, values)) {
    if (!value)
      continue;
    parts.push_back(value);
    offsets.push_back(member.offset);
  }
  if (parts.empty()) {
    auto type = RankedTensorType::get({bucket.size}, b.getF32Type());
    return ConstantOp::create(
        b, DenseElementsAttr::get(type, b.getF32FloatAttr(0)), StringAttr());
  }
  return PackOp::create(b, parts, offsets, bucket.size);
}

void frit::replaceArguments(func::FuncOp main, ArrayRef<Bucket> buckets,
                            ArrayRef<Value> values) {
  NNBuilder b(main.getLoc(), OpBuilder::atBlockBegin(&main.getBody().front()));
  llvm::BitVector gone(main.getNumArguments());
  SmallVector<Operation *> replaced;
  for (auto [bucket, value] : llvm::zip_equal(buckets, values)) {
    llvm::SmallDenseMap<Type, Value> casts;
    for (const BucketMember &member : bucket.members) {
      BlockArgument argument = member.argument;
      b.setLoc(argument.getLoc());
      // All members are cast together.
      for (Operation *user : argument.getUsers())
        if (auto cast = dyn_cast<CastOp>(user)) {
          Value &whole = casts[cast.getTo()];
          if (!whole)
            whole = b.cast(value, cast.getTo());
          cast.replaceAllUsesWith(memberOf(b, whole, member));
          replaced.push_back(cast);
        }
      argument.replaceAllUsesWith(memberOf(b, value, member));
      gone.set(argument.getArgNumber());
    }
  }
  // Erase them last, since one may be the builder's insertion point.
  for (Operation *cast : replaced)
    cast->erase();
  (void)main.eraseArguments(gone);
}
