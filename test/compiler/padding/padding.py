"""Tests which models may run on padded inputs.

    padding.py WORK

Each is compiled for two sizes of `batch`; if those between cannot be padded,
-Rpass-missed=shape says so. Models that need masks also run with other sizes. That
the others compute the right results on padded inputs is for
test/compiler/pipeline/variants.py to show.
"""
import pathlib
import subprocess
import sys

import numpy
import onnx
import onnx.parser
import onnxruntime

HEADER = '<ir_version: 8, opset_import: ["": 21]>\n'

# Rows are independent with $ = 1; with $ = 0 they are combined, which a mask makes safe.
MASKED_ACROSS = [
    ("argmax", """
m (float[batch,4] x) => (y) { y = ArgMax<axis=$>(x) }
"""),
    ("softmax", """
m (float[batch,4] x) => (y) { y = Softmax<axis=$>(x) }
"""),
    ("inner_fold", """
m (float[2,batch,3,2] x) => (y) <int64[2] s={-1,6}, int64[4] b={2,-1,3,2}>
{ f=Reshape(x,s) e=Softmax<axis=$>(f) y=Reshape(e,b) }
"""),
    ("twice", """
m (float[batch,4] x) => (y) { y = Concat<axis=$>(x,x) }
"""),
    ("topk", """
m (float[batch,4] x) => (y,i) <int64[1] k={1}> { y,i = TopK<axis=$>(x,k) }
"""),
]

# Rows are independent.
PADDED = [
    ("tile_inside", """
m (float[batch,4] x) => (y) <int64[2] r={1,3}> { y = Tile(x,r) }
"""),
    ("transposed", """
m (float[batch,4] x) => (y) { y = Transpose<perm=[1,0]>(x) }
"""),
    ("pad_inside", """
m (float[batch,4] x) => (y) <int64[4] p={0,1,0,2}> { y = Pad(x,p) }
"""),
    ("layer_norm", """
m (float[batch,4] x) => (y) <float[4] s={1,1,1,1}, float[4] b={0,1,2,3}> {
y = LayerNormalization<axis=1>(x,s,b) }
"""),
    ("trilu", """
m (float[batch,4] x) => (y) { y = Trilu<upper=0>(x) }
"""),
    ("eyelike", """
m (float[batch,4] x) => (y) { e = EyeLike(x) y = Add(x,e) }
"""),
    ("scatter", """
m (float[batch,4] x, int64[batch,4] i, float[batch,4] u) => (y) { y =
ScatterElements<axis=1>(x,i,u) }
"""),
    ("conv", """
m (float[batch,2,5,5] x, float[3,2,3,3] w) => (y) {
  y = Conv<pads=[1,1,1,1]>(x,w)
}
"""),
    ("conv_of_one", """
m (float[1,2,batch] x) => (y) <float[3,2,1] w={1,2,3,4,5,6}> { y =
Conv(x,w) }
"""),
    ("conv_beside", """
m (float[batch,4] x, float[1,3,4,1] p, float[1,3,3,1] w) => (y, z) {
  y = Relu(x) z = Conv<strides=[2,1]>(p,w)
}
"""),
    ("pool", """
m (float[batch,2,6] x) => (y) { y =
MaxPool<kernel_shape=[2],strides=[2]>(x) }
"""),
    ("lstm", """
m (float[3,batch,2] x) => (y) <float[1,4,2] w={1,2,-1,0.5,1,1,2,0.1},
float[1,4,1] r={0.1,0.2,0.3,0.4}> { y = LSTM<hidden_size=1>(x,w,r) }
"""),
    ("instance_norm", """
m (float[batch,2,5] x) => (y) <float[2] s={1,2}, float[2] b={0,1}> { y =
InstanceNormalization(x,s,b) }
"""),
    ("einsum", """
m (float[batch,4] x, float[batch,4] z) => (y) { y =
Einsum<equation="bi,bi->b">(x,z) }
"""),
    ("expanded", """
m (float[batch,4] x) => (y) <float[1] o={2}> { s = Shape(x) e =
Expand(o,s) y = Mul(x,e) }
"""),
    ("onehot", """
m (int64[batch] x) => (y) <int64 d={3}, float[2] v={0,1}> { y =
OneHot(x,d,v) }
"""),
    ("resize", """
m (float[batch,1,4] x) => (y) <float[3] s={1,1,2}> { y =
Resize<mode="linear">(x,,s) }
"""),
    ("hardmax", """
m (float[batch,4] x) => (y) { y = Hardmax<axis=1>(x) }
"""),
    ("last_dimension", """
m (float[3,batch] x) => (y) <int64[1] k={0}> { y = ReduceSum(x,k) }
"""),
    ("split", """
m (float[batch,4] x) => (y,z) { y,z = Split<axis=1,num_outputs=2>(x) }
"""),
    ("relu_square", """
m (float[batch,batch] x) => (y) { y = Relu(x) }
"""),
    ("trilu_square", """
m (float[batch,batch] x) => (y) { y = Trilu<upper=1>(x) }
"""),
]

# Rows are combined, or divided by their number: safe with masks and the true size, or because
# padded zeros do no harm.
MASKED = [
    # Rows of padding see no key, so that their queries and keys are no numbers.
    ("hidden_rows", """
m (float[1,batch,8] x, float[1,batch,batch] w) => (y)
<float[4,2] u={0,0,1,2,3,4,5,6}, int64 most={3}, int64[4] s={1,-1,2,4}> {
t=Log(u) a=Abs(w) c=Ceil(a) i=Cast<to=7>(c) j=Min(i,most) g=Gather<axis=0>(t,j)
b=Transpose<perm=[0,3,1,2]>(g) r=Reshape(x,s) v=Transpose<perm=[0,2,1,3]>(r)
k=Transpose<perm=[0,2,3,1]>(r) p=MatMul(v,k) q=Add(p,b) e=Softmax(q) o=MatMul(e,v)
l=Transpose<perm=[0,1,3,2]>(o) m=MatMul(o,l) n=Add(m,b) h=Softmax(n) y=MatMul(h,o) }
"""),
    ("first_row", """
m (float[batch,4] x) => (y) <int64[1] s={0}, int64[1] e={1}, int64[1]
a={0}> { y = Slice(x,s,e,a) }
"""),
    # A convolution gives as many elements as are wanted, or one more.
    ("half_rate", """
m (float[1,batch] x) => (y) <float[1,1,1,4] k={1,2,3,4}, int64[2] d={1,2},
int64[1] z={0}, int64[1] one={1}, int64[1] two={2}, int64[2] f={1,-1}> {
n=Shape<start=1,end=2>(x) m1=Add(n,one) m=Div(m1,two) u=Unsqueeze(x,d)
c=Conv<pads=[0,2,0,2],strides=[1,2]>(u,k) t=Transpose<perm=[0,3,2,1]>(c)
r=Reshape(t,f) y=Slice(r,z,m,one) }
"""),
    ("third_rate", """
m (float[1,batch] x) => (y) <float[1,1,1,5] k={1,2,3,4,5}, int64[2] d={1,2},
int64[1] z={0}, int64[1] one={1}, int64[1] two={2}, int64[1] h={3},
int64[2] f={1,-1}> { n=Shape<start=1,end=2>(x) m1=Add(n,two) m=Div(m1,h)
u=Unsqueeze(x,d) c=Conv<pads=[0,2,0,4],strides=[1,3]>(u,k)
t=Transpose<perm=[0,3,2,1]>(c) r=Reshape(t,f) y=Slice(r,z,m,one) }
"""),
    ("reversed", """
m (float[batch,4] x) => (y) <int64[1] s={-1}, int64[1] e={-1000}, int64[1]
a={0}, int64[1] st={-1}> { y = Slice(x,s,e,a,st) }
"""),
    ("every_second", """
m (float[batch,4] x) => (y) <int64[1] s={0}, int64[1] e={100000}, int64[1]
a={0}, int64[1] st={2}> { y = Slice(x,s,e,a,st) }
"""),
    ("tile", """
m (float[batch,4] x) => (y) <int64[2] r={2,1}> { y = Tile(x,r) }
"""),
    ("conv_along", """
m (float[1,2,batch] x, float[3,2,3] w) => (y) { y =
Conv<pads=[1,1]>(x,w) }
"""),
    ("conv_strided", """
m (float[1,2,batch] x, float[2,2,3] w) => (y) { a =
Conv<pads=[1,1],strides=[2]>(x,w) b = Conv<pads=[1,1]>(a,w) y = GlobalAveragePool(b) }
"""),
    ("max_pool_along", """
m (float[1,2,batch] x) => (y) { a =
MaxPool<kernel_shape=[3],pads=[1,1]>(x) y = Neg(a) }
"""),
    ("mean_pool_with_pads", """
m (float[1,2,batch] x) => (y) { y =
AveragePool<kernel_shape=[3],pads=[1,1],count_include_pad=1>(x) }
"""),
    ("cumsum", """
m (float[batch,4] x) => (y) <int64 a={0}> { y = CumSum(x,a) }
"""),
    ("cumsum_rev", """
m (float[batch,4] x) => (y) <int64 a={0}> { y = CumSum<reverse=1>(x,a) }
"""),
    ("gram", """
m (float[batch,4] x) => (y) { t = Transpose<perm=[1,0]>(x) y = MatMul(t,x)
}
"""),
    ("centred", """
m (float[batch,4] x) => (y) <int64[1] axes={0}> { m = ReduceMax(x,axes) y
= Sub(x,m) }
"""),
    ("l2_of_columns", """
m (float[batch,4] x) => (y) <int64[1] axes={0}> { y = ReduceL2(x,axes) }
"""),
    ("einsum2", """
m (float[batch,4] x, float[batch,4] z) => (y) { y =
Einsum<equation="bi,bj->ij">(x,z) }
"""),
    ("times_size", """
m (float[batch,4] x) => (y) { s = Size(x) f = Cast<to=1>(s) y = Mul(x,f) }
"""),
    ("normalised", """
m (float[batch,4] x) => (y) <int64[1] k={0}> { n = ReduceSum(x,k) y =
Div(x,n) }
"""),
    ("softmax_square", """
m (float[batch,batch] x) => (y) { y = Softmax<axis=1>(x) }
"""),
    ("lstm_along", """
m (float[batch,3,2] x) => (y) <float[1,4,2] w={1,2,-1,0.5,1,1,2,0.1},
float[1,4,1] r={0.1,0.2,0.3,0.4}> { y = LSTM<hidden_size=1>(x,w,r) }
"""),
    ("padfront", """
m (float[batch,4] x) => (y) <int64[4] p={1,0,0,0}> { y = Pad(x,p) }
"""),
    # As many elements are put after the last one as are missing to a multiple.
    ("to_a_multiple", """
m (float[2,batch,3] x) => (y) <int64[1] four={4}, int64[1] z={0}, int64[1] a={1},
int64[3] low={0,0,0}, int64[4] w={2,-1,4,3}> { n=Shape<start=1,end=2>(x) o=Neg(n)
d=Mod(o,four) p=Concat<axis=0>(low,z,d,z) q=Pad(x,p) r=Reshape(q,w)
y=ReduceMax<keepdims=0>(r,a) }
"""),
    ("padback", """
m (float[batch,4] x) => (y) <int64[4] p={0,0,1,0}> { y = Pad(x,p) }
"""),
    ("pool_along", """
m (float[1,2,batch] x) => (y) { y =
AveragePool<kernel_shape=[3],pads=[1,1]>(x) }
"""),
    ("resize_along", """
m (float[1,1,batch] x) => (y) <float[3] s={1,1,2}> { y =
Resize<mode="linear">(x,,s) }
"""),
]

# Positions are computed from the size. All are gathered in order, as PyTorch's exporters write
# masks of attention; or they are folded for few rows, but not for many.
POSITIONS = [
    # Scores of positions from -7 to 7, shifted by one more place in each row.
    ("relative_shift", """
m (float[2,batch,2] x) => (y) <float[2,15] t={%s}, int64[1] half={7}, int64[1] one={1},
int64[1] z={0}, int64[1] two={2}, int64[6] w={0,0,1,0,0,0}> {
n=Shape<start=1,end=2>(x) f=Sub(half,n) from=Add(f,one) to=Add(half,n) p=Slice(t,from,to,one)
s=MatMul(x,p) b=Shape(s) c=Pad(s,w) k=Mul(n,two) u=Concat<axis=0>(two,k,n) v=Reshape(c,u)
l=Slice(v,one,k,one) m=Reshape(l,b) y=Slice(m,z,n,two) }
""" % ",".join(str(n % 11 - 5) for n in range(30))),
    ("relative_shift_joined", """
m (float[2,batch,2] x) => (y) <float[2,15] t={%s}, int64[1] half={7}, int64[1] one={1},
int64[1] z={0}, int64[1] two={2}, int64[1] au={2}> {
n=Shape<start=1,end=2>(x) f=Sub(half,n) from=Add(f,one) to=Add(half,n) p=Slice(t,from,to,one)
s=MatMul(x,p) b=Shape(s) e=Concat<axis=0>(two,n,one) g=ConstantOfShape(e)
c=Concat<axis=2>(g,s) k=Mul(n,two) u=Concat<axis=0>(two,k,n) v=Reshape(c,u)
l=Slice(v,one,k,one) m=Reshape(l,b) y=Slice(m,z,n,two) }
""" % ",".join(str(n % 11 - 5) for n in range(30))),
    ("positions", """
m (float[batch,40] x) => (y) <int64 z={0}, int64 o={1}, int64[1] last={-1},
int64[1] first={0}> {
s = Shape(x) n = Gather(s,z) c = Gather(s,o) rows = Range(z,n,o) cols = Range(z,c,o)
r = Unsqueeze(rows,last) k = Unsqueeze(cols,first) one = Max(r,k)
form = Shape(one) a = Expand(r,form) b = Expand(k,form) i = Unsqueeze(a,last)
j = Unsqueeze(b,last) ij = Concat<axis=-1>(i,j) y = GatherND(x,ij) }
"""),
    ("flat_positions", """
m (float[batch,400] x) => (y) <int64 z={0}, int64 o={1}, int64[1] last={-1},
int64[1] first={0}> {
s = Shape(x) n = Gather(s,z) c = Gather(s,o) rows = Range(z,n,o) cols = Range(z,c,o)
r = Unsqueeze(rows,last) k = Unsqueeze(cols,first) f = Mul(r,c) i = Add(k,f)
flat = Flatten<axis=0>(x) all = Reshape(flat,last) y = Gather(all,i) }
"""),
    ("distances", """
m (float[batch,900] x) => (y) <int64 z={0}, int64 o={1}, int64[1] last={-1},
int64[1] first={0}> {
s = Shape(x) n = Gather(s,z) c = Gather(s,o) rows = Range(z,n,o) cols = Range(z,c,o)
r = Unsqueeze(rows,last) k = Unsqueeze(cols,first) d = Sub(r,k) e = Sign(d)
f = Cast<to=1>(e) y = Mul(x,f) }
"""),
]

# Data choose elements among those of the call, from the end, too. Updates beyond the call's are
# ignored.
PICKS = [
    ("rows_by_index", """
m (float[batch,4] x, int64[batch] i) => (y) { y = Gather<axis=0>(x,i) }
"""),
    ("small_indices", """
m (float[3,batch,4] x, int64[batch,2] i) => (y) { j=Cast<to=6>(i) y = Gather<axis=1>(x,j) }
"""),
    ("gather_elements", """
m (float[batch,4] x, int64[batch,3] i) => (y) { y = GatherElements<axis=0>(x,i) }
"""),
    ("gather_nd", """
m (float[3,batch,4] x, int64[batch,1] i) => (y) <int64[1,1] two={2}> { s=Shape(i)
k=Expand(two,s) j=Concat<axis=1>(k,i) y = GatherND(x,j) }
"""),
    ("scatter_elements", """
m (float[batch,4] x, int64[batch,3] i, float[batch,3] u) => (y) { e=Exp(u) y =
ScatterElements<axis=0,reduction="$">(x,i,e) }
"""),
    ("scatter_elsewhere", """
m (float[5,batch] x, int64[3,batch] j, float[3,batch] u) => (y) <int64 five={5}> {
i=Mod(j,five) e=Exp(u) y = ScatterElements<axis=0,reduction="$">(x,i,e) }
"""),
    ("scatter_along", """
m (float[5,4] x, int64[batch,4] j, float[batch,4] u) => (y) <int64 five={5}> {
i=Mod(j,five) e=Exp(u) y = ScatterElements<axis=0,reduction="$">(x,i,e) }
"""),
    ("scatter_nd", """
m (float[batch,4] x, int64[batch,1] i) => (y) <float z={0}> { o=Mul(x,z) u=Cos(x) y =
ScatterND<reduction="$">(o,i,u) }
"""),
    ("messages", """
m (float[batch,4] x, int64[batch] i, int64[batch] j) => (y) <int64[1] last={-1},
float z={0}> { g=Gather<axis=0>(x,i) h=Exp(g) k=Unsqueeze(j,last) o=Mul(x,z)
s=ScatterND<reduction="add">(o,k,h) y=Softmax<axis=0>(s) }
"""),
    # Messages begin as zeros, whose places are not known.
    ("part_of_zeros", """
m (float[6,batch,4] x) => (y) <float[1] v={0}, int64[4,1] i={0,1,2,3}> { s=Shape(x)
z=Expand(v,s) a=Transpose<perm=[2,0,1]>(z) b=Transpose<perm=[2,0,1]>(x)
r=ScatterND(a,i,b) t=Transpose<perm=[1,2,0]>(r) y=Exp(t) }
"""),
    ("sorted", """
m (float[batch,4] x) => (y,i) { k = Shape<start=0,end=1>(x) y,i = TopK<axis=0>(x,k) }
"""),
    ("sorted_upwards", """
m (float[3,batch,2] x) => (y,i) { k = Shape<start=1,end=2>(x) y,i =
TopK<axis=1,largest=0>(x,k) }
"""),
    ("least_of_joined", """
m (float[3,batch,2] x) => (y,i) <int64[1] k={2}, int64[2] f={3,-1}> { r=Reshape(x,f) e=Exp(r)
y,i = TopK<axis=1,largest=0>(e,k) }
"""),
    ("sorted_integers", """
m (int64[batch,3] x) => (y,i,z,j) { k = Shape<start=0,end=1>(x) c = Cast<to=6>(x)
y,i = TopK<axis=0,largest=0>(x,k) z,j = TopK<axis=0>(c,k) }
"""),
    ("sorted_bytes", """
m (int64[2,batch] x) => (y,i,z,j) { k = Shape<start=1,end=2>(x) c = Cast<to=2>(x)
y,i = TopK<axis=1,largest=0>(c,k) z,j = TopK<axis=1>(c,k) }
"""),
    ("sorted_ends", """
m (int64[2,batch] x) => (y,i,z,j) <int64 zero={0}, float inf={inf}, int64 most={9223372036854775807}>
{ k = Shape<start=1,end=2>(x) f = Cast<to=1>(x) b = Less(x,zero) g = Where(b,f,inf) n = Neg(g)
y,i = TopK<axis=1>(n,k) h = Where(b,x,most) z,j = TopK<axis=1,largest=0>(h,k) }
"""),
    ("nearest_of_each", """
m (float[2,batch,3] x) => (y,i) <int64[1] k={1}> { t=Transpose<perm=[0,2,1]>(x) d=MatMul(x,t)
y,i = TopK<axis=2,largest=0>(d,k) }
"""),
    ("grid_sample", """
m (float[1,2,batch,5] x, float[1,3,4,2] g) => (y) { y =
GridSample<align_corners=$,padding_mode="border">(x,g) }
"""),
]

# A row's result depends on other rows, its position from the end or their number, or the compiler
# cannot show that it does not.
EXACT = [
    ("between_twice", """
m (float[batch,4] x, float[3,4] t) => (y) { y = Concat<axis=0>(t,x,t,x) }
"""),
    ("fold_last", """
m (float[batch,4] x) => (y) <int64[2] s={4,-1}> { y = Reshape(x,s) }
"""),
    ("shift", """
m (float[batch,4] x) => (y) <int64[1] s={1}, int64[1] e={100000}, int64[1]
a={0}> { y = Slice(x,s,e,a) }
"""),
    ("last_row", """
m (float[batch,4] x) => (y) <int64[1] s={-1}, int64[1] e={100000},
int64[1] a={0}> { y = Slice(x,s,e,a) }
"""),
    ("inner_fold_counted", """
m (float[2,batch,3] x) => (y) <int64[2] s={-1,3}, int64[3] b={2,-1,3},
int64 z={0}, int64 one={1}, int64 zz={0}, int64[1] au={1}> {
f=Reshape(x,s) d=Shape(f) n=Gather<axis=0>(d,zz) r=Range(z,n,one)
c=Cast<to=1>(r) u=Unsqueeze(c,au) e=Add(f,u) y=Reshape(e,b) }
"""),
]

# Frames of sound: products of strides are the distance of what is left.
STRIDES = [
    ("strides_of_80", """
m (float[1,1,batch] x) => (y) <float[1,1,20] k={1,2,3,4,5,6,7,8,9,10,11,12,13,
14,15,16,17,18,19,20}, float[1,1,16] l={1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>
{ c=Conv<strides=[10]>(x,k) y=Conv<strides=[8]>(c,l) }
"""),
    # Long prefix sums are computed by blocks, after the proof.
    ("long_sums", """
m (float[2,batch] x) => (y,z) <int64 a={1}> { y = CumSum(x,a) z = CumSum<reverse=1,exclusive=1>(x,a) }
"""),
    # The mask of frames: the last frame of each sound is marked, and those before it.
    ("frames_of_mask", """
m (float[batch,2] t, float[2,batch] x) => (y) <int64 one={1}, int64 five={5}, int64[1] ax={1},
int64[1] last={-1}, int64[1] end={-1000000}, int64[1] two={2}, int64[2,1] rows={0,1},
float zero={0}, int64[1] au={1}> { n=Shape<start=1,end=2>(x) m=Div(n,five) s=Concat<axis=0>(two,m)
z=ConstantOfShape(s) w=Greater(x,zero) i=Cast<to=7>(w) c=ReduceSum<keepdims=0>(i,ax)
d=Div(c,five) e=Sub(d,one) u=Unsqueeze(e,last) r=Concat<axis=1>(rows,u) o=Expand(hot,two)
p=ScatterND(z,r,o) f=Slice(p,last,end,au,last) g=CumSum(f,one) y=Slice(g,last,end,au,last) }
""".replace("float zero={0}", "float zero={0}, float[1] hot={1}")),
    # An element that is in no pair is zero.
    ("pairs_and_rest", """
m (float[1,batch] x) => (y) <int64[1] two={2}, int64[1] z={0}, int64[1] one={1}> {
n=Shape<start=1,end=2>(x) h=Div(n,two) e=Mul(h,two) s=Slice(x,z,e,one) d=Sub(n,e)
p=Concat<axis=0>(z,z,z,d) y=Pad(s,p) }
"""),
    ("mirrored_to_a_multiple", """
m (float[1,batch] x) => (y) <int64[1] many={32}, int64[1] z={0}> {
n=Shape<start=1,end=2>(x) o=Neg(n) d=Mod(o,many) p=Concat<axis=0>(z,z,z,d)
y=Pad<mode="reflect">(x,p) }
"""),
    # The element before each, as of filters that emphasise.
    ("edge_shifted", """
m (float[2,batch] x) => (y) <int64[4] p={0,1,0,-1}> { e=Pad<mode="edge">(x,p) y=Sub(x,e) }
"""),
    # Elements of both rows are divided by a norm of all of them.
    ("norm_of_places", """
m (float[2,batch] x) => (y) <int64[1] flat={-1}, int64[1] a={0}, int64[2] w={2,-1}> {
f=Reshape(x,flat) n=ReduceL2<keepdims=1>(f,a) s=Shape(f) e=Expand(n,s) d=Div(f,e) y=Reshape(d,w) }
"""),
    # The data say how many columns there are, by means of the rows that a call has.
    ("columns_by_mean", """
m (float[batch,6] x) => (y, z, u) <int64[1] a={0}, int64[1] b={1}, float zero={0.02}> {
mean=ReduceMean<keepdims=0>(x,a) c=Greater(mean,zero) y=Compress<axis=1>(x,c)
z=ReduceSum<keepdims=0>(y,b) u=Softmax<axis=0>(y) }
"""),
    # Long rows are sorted in blocks, those of a small size as those of the large one.
    ("first_of_many", """
m (float[2,batch] x) => (y,i) <int64[1] k={5}> { y,i = TopK<axis=1>(x,k) }
"""),
    ("first_of_few_kept", """
m (float[batch,3] x) => (y,i) <int64[1] k={200}> { y,i = TopK<axis=0,largest=0>(x,k) }
"""),
    ("all_of_many", """
m (float[3,batch] x) => (y,i) {
k=Shape<start=1,end=2>(x) y,i = TopK<axis=1,largest=0>(x,k) }
"""),
    ("all_of_many_downwards", """
m (float[3,batch] x) => (y,i) { k=Shape<start=1,end=2>(x) y,i = TopK<axis=1>(x,k) }
"""),
    ("most_of_integers", """
m (int64[1,batch] x) => (y,i) { k=Shape<start=1,end=2>(x) y,i = TopK<axis=1>(x,k) }
"""),
    # Few updates are looked for by each element, many are sorted.
    ("many_updates", """
m (float[2,batch] x, int64[2,140] g, float[2,140] u) => (y) <int64[2] big={8,1}, int64[1] z={0}> {
n=Shape<start=1,end=2>(x) p=Mod(g,n) t=Tile(x,big) v=Tile(p,big) w=Tile(u,big)
y = ScatterElements<axis=1>(t,v,w) }
"""),
    ("root_of_size", """
m (float[1,batch,2] x) => (y) <float half={-0.5}, float one={1}> {
s=Shape<start=1,end=2>(x) f=Cast<to=1>(s) r=Sqrt(f) q=Pow(f,half)
a=Add(q,one) d=Div(x,r) y=Mul(d,a) }
"""),
    ("strides_of_160", """
m (float[1,1,batch] x) => (y) <float[1,1,5] k={1,2,3,4,5}, float[1,1,3]
l={1,2,3}> { a=Conv<strides=[20],pads=[2,2]>(x,k) b=Conv<strides=[8]>(a,l)
y=Softmax<axis=2>(b) }
"""),
    ("frames_of_100", """
m (float[1,batch] x) => (y) <int64 z={0}, int64 one={1}, int64 hop={100},
int64[150] w={%s}, int64[1] zz={0}, int64[1] au={1}, int64 last={50}> {
n=Shape<start=1,end=2>(x) s=Squeeze(n) a=Sub(s,last) c=Div(a,hop)
r=Range(z,c,one) o=Mul(r,hop) u=Unsqueeze(o,au) p=Add(u,w)
y=Gather<axis=1>(x,p) }
""" % ",".join(map(str, range(150)))),
]


for name, text in MASKED_ACROSS:
    PADDED.append((f"{name}_within", text.replace("$", "1")))
for name, text in MASKED_ACROSS:
    MASKED.append((f"{name}_across", text.replace("$", "0")))


for name, text in PICKS.copy():
    if "$" in text:
        PICKS.remove((name, text))
        PICKS += [(f"{name}_{kind}", text.replace("$", kind)) for kind in
                  (("add", "mul", "max", "min") if "reduction" in text else ("0", "1"))]


def is_padded(name, text, work, sizes="2,8", served="1..8"):
    path = work / f"{name}.onnx"
    onnx.save(onnx.parser.parse_model(HEADER + text), path)
    done = subprocess.run(
        ["fritc", path, "-march=x86-64", f"-fshape=batch={sizes}",
         "-Rpass-missed=shape", "-o", work / f"{name}.so"],
        capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    said = subprocess.run(
        ["frit-run", work / f"{name}.so", "--info", "--device=none"],
        capture_output=True, text=True, check=True).stdout
    padded = served in said
    if not padded:
        assert "[-Rpass-missed=shape]" in done.stderr, name
    return padded


def agrees(name, work, sizes=(1, 3, 5, 7, 8)):
    """Returns whether all sizes give ONNX Runtime's results."""
    session = onnxruntime.InferenceSession(work / f"{name}.onnx")
    generator = numpy.random.default_rng(5)
    agreed = True
    for batch in sizes:
        inputs = {}
        for value in session.get_inputs():
            shape = [n if isinstance(n, int) else batch for n in value.shape]
            inputs[value.name] = (
                generator.integers(-batch, batch, shape) if "int64" in value.type else
                generator.standard_normal(shape).astype(numpy.float32))
        names = [value.name for value in session.get_outputs()]
        numpy.savez(work / "in.npz", **inputs)
        numpy.savez(work / "out.npz", **{
            name: numpy.array(value, order="C") for name, value in
            zip(names, session.run(None, inputs))})
        done = subprocess.run(
            ["frit-run", work / f"{name}.so", f"--input=@{work / 'in.npz'}",
             f"--compare={work / 'out.npz'}"], capture_output=True, text=True)
        if done.returncode:
            print(name, batch, done.stdout, done.stderr)
            agreed = False
    return agreed


def main():
    work = pathlib.Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    wrong = [name
             for models, expected in ((PADDED, True), (MASKED, True),
                                      (POSITIONS, True), (PICKS, True), (EXACT, False))
             for name, text in models
             if is_padded(name, text, work) != expected]
    wrong += [name for name, text in MASKED + POSITIONS + PICKS if not agrees(name, work)]
    for name, text in STRIDES:
        if not (is_padded(name, text, work, "300..1500", "300..1500") and
                agrees(name, work, (300, 319, 320, 321, 479, 480, 549, 550, 551,
                                    1023, 1024, 1025, 1499, 1500))):
            wrong.append(name)
    padded = len(PADDED) + len(POSITIONS) + len(PICKS) + len(STRIDES)
    print(f"{padded} padded, {len(MASKED)} masked, {len(EXACT)} exact:",
          f"wrong: {wrong}" if wrong else "all as expected")
    sys.exit(len(wrong) > 0)


main()
