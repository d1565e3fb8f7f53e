//===- Selection.td - Scattering and sorting ------------------------------===//

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
