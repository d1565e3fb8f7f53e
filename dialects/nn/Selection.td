//===- Selection.td - Scattering, sorting and counting --------------------===//

include "dialects/nn/Base.td"

def NN_ScatterKind : AttrConstraint<
    CPred<"::llvm::is_contained({\"none\", \"add\", \"mul\", \"max\", \"min\"}, "
          "::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
    "that is none, add, mul, max or min">;

def NN_ScatterElementsOp : NN_Structural<"scatter_elements", ""> {
  let summary = "x with `updates` put where `indices` say along `axis`.";
  let description = [{
    Of several updates of one element the last wins; with a `reduction` they are
    all combined with it, in f32 for 16-bit floats. Negative indices count from
    the end, those out of range are passed over. Every element looks for its own
    updates, so the time is that of x times the size of the updates along
    `axis`, and the result does not depend on any order.
  }];
  let arguments = (ins NN_Tensor:$x, NN_IndexTensor:$indices,
                   NN_Tensor:$updates, DefaultValuedAttr<SI64Attr, "0">:$axis,
                   DefaultValuedAttr<ConfinedAttr<StrAttr, [NN_ScatterKind]>,
                                     "\"none\"">:$reduction);
  let results = (outs NN_Tensor:$y);
}

def NN_SortPlacesOp : NN_Structural<"sort_places", ""> {
  let summary = "Where every element would be if `axis` were sorted.";
  let description = [{
    Ascending, or the other way with `descending`; equal elements keep their
    order. Takes time quadratic in the dimension, as every place is counted on
    its own.
  }];
  let arguments = (ins NN_NumberTensor:$x, SI64Attr:$axis,
                   UnitAttr:$descending);
  let results = (outs RankedTensorOf<[I64]>:$places);
}

def NN_MergePlacesOp : NN_Structural<"merge_places", ""> {
  let summary = "Where the first `count` elements of a merge come from.";
  let description = [{
    The last dimension of x is two halves of the same size, each sorted in the
    order of `sort_places`; the result has places in it. Of equal elements those
    of the first half come first. Every result finds by halves how many elements
    of the first half are before it (Odeh et al., Merge Path, 2012).
  }];
  let arguments = (ins NN_NumberTensor:$x, I64Attr:$count,
                   UnitAttr:$descending);
  let results = (outs RankedTensorOf<[I64]>:$places);
}

def NN_SearchSortedOp : NN_Structural<"search_sorted", ""> {
  let summary = "How many elements of ascending rows are at most each value.";
  let description = [{
    Rows are along the last dimension; `values` have the same others. NaN is the
    largest. Every value is looked for by halves.
  }];
  let arguments = (ins NN_NumberTensor:$sorted, NN_NumberTensor:$values);
  let results = (outs RankedTensorOf<[I64]>:$counts);
}

def NN_CountedOp : NN_Inferred<"counted", "", []> {
  let summary = "x, of whose dimension `axis` the first `count` entries count.";
  let description = [{
    What importers make of a result whose size the data decide: `x` has room for
    the most there may be. The result has `size` entries, which is all of them
    except in an import that takes the data to say something else, for
    comparison (compiler/driver/Counts.h). Results of one `number` have one
    count. No target computes it.
  }];
  let arguments = (ins NN_Tensor:$x, 0DTensorOf<[I64]>:$count,
                   I64Attr:$axis, I64Attr:$size, I64Attr:$number);
  let results = (outs NN_Tensor:$y);
}
