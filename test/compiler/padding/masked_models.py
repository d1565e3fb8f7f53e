"""Models whose padding needs no mask, or masks before what combines elements."""

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


for name, text in MASKED_ACROSS:
    PADDED.append((f"{name}_within", text.replace("$", "1")))
for name, text in MASKED_ACROSS:
    MASKED.append((f"{name}_across", text.replace("$", "0")))
