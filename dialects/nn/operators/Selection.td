//===- Selection.td - Scatter, sort, merge and search -----------------------===//

include "dialects/nn/Base.td"

def NN_ScatterKind : AttrConstraint<
    CPred<"::llvm::is_contained({\"none\", \"add\", \"mul\", \"max\", \"min\"}, "
          "::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
    "that is none, add, mul, max or min">;

def NN_ScatterElementsOp : NN_Structural<"scatter_elements", ""> {
  let summary = "x with `updates` written at `indices` along `axis`.";
  let description = [{
    If an element has several updates, the last one wins. With a `reduction`,
    all of them are combined with the element, in f32 for 16-bit floats.
    Negative indices count from the end; those out of range are ignored. Every
    element searches for its own updates. So the result is deterministic, and
    time is proportional to the size of x times that of the updates along
    `axis`.
  }];
  let arguments = (ins NN_Tensor:$x, NN_IndexTensor:$indices,
                   NN_Tensor:$updates, DefaultValuedAttr<SI64Attr, "0">:$axis,
                   DefaultValuedAttr<ConfinedAttr<StrAttr, [NN_ScatterKind]>,
                                     "\"none\"">:$reduction);
  let results = (outs NN_Tensor:$y);
  let differentiable = 1;
}

def NN_SortPlacesOp : NN_Structural<"sort_places", ""> {
  let summary = "Index that every element would have if `axis` were sorted.";
  let description = [{
    The sort is ascending, or descending with `descending`, and stable. Time is
    quadratic in the dimension: an element's position is the number of elements
    that precede it.
  }];
  let arguments = (ins NN_NumberTensor:$x, SI64Attr:$axis,
                   UnitAttr:$descending);
  let results = (outs RankedTensorOf<[I64]>:$places);
  let discrete = 1;
}

def NN_MergePlacesOp : NN_Structural<"merge_places", ""> {
  let summary = "Indices of the first `count` elements of two merged lists.";
  let description = [{
    The last dimension of x consists of two halves of equal size, each sorted in
    the order of `sort_places`. The result has indices into it. Equal elements
    of the first half come first. Each result finds by binary search how many
    elements of the first half precede it (Odeh et al., "Merge Path", 2012).
  }];
  let arguments = (ins NN_NumberTensor:$x, I64Attr:$count,
                   UnitAttr:$descending);
  let results = (outs RankedTensorOf<[I64]>:$places);
  let discrete = 1;
}

def NN_SearchSortedOp : NN_Structural<"search_sorted", ""> {
  let summary = "For each value, the number of elements of a sorted row that "
                "are at most the value.";
  let description = [{
    Rows are along the last dimension and ascending; the other dimensions of
    `sorted` and `values` are equal. NaN is the largest. The result is that of
    NumPy's `searchsorted` with `side='right'`, by binary search.
  }];
  let arguments = (ins NN_NumberTensor:$sorted, NN_NumberTensor:$values);
  let results = (outs RankedTensorOf<[I64]>:$counts);
  let discrete = 1;
}

def NN_CountedOp : NN_Inferred<"counted", "", []> {
  let summary = "A tensor with a data-dependent length along `axis`.";
  let description = [{
    Importers create it for results whose length depends on the data, such as
    that of NonZero. `x` is as long as the result can be; only its first `count`
    entries are valid. `size` is the static length of the result: that of x,
    except in imports that are only compared to learn how shapes depend on
    counts (see compiler/padding/Counts.h). Results with the same `number` share
    a count. The pipeline removes it; no target computes it.
  }];
  let arguments = (ins NN_Tensor:$x, 0DTensorOf<[I64]>:$count,
                   I64Attr:$axis, I64Attr:$size, NN_Count:$number);
  let results = (outs NN_Tensor:$y);
}
