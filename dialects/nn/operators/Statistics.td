//===- Statistics.td - Statistics of columns --------------------------------===//

include "dialects/nn/Base.td"

def NN_ColumnMomentsOp : NN_Composite<"column_moments", ""> {
  let summary = "Mean and sum of squared deviations of parts of columns.";
  let description = [{
    One part is `height` successive rows, which all dimensions of x but the last
    count: x [..., n] gives [2, rows / height, n] in f32, first the means. The
    epilogue of a contraction can compute them for its result; batch norms of
    training steps merge them.
  }];
  let arguments = (ins NN_FloatTensor:$x, SI64Attr:$height);
  let results = (outs NN_FloatTensor:$y);
}
