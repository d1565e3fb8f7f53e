"""Models whose places and picked elements depend on sizes, and models that take exact sizes."""

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


for name, text in PICKS.copy():
    if "$" in text:
        PICKS.remove((name, text))
        PICKS += [(f"{name}_{kind}", text.replace("$", kind)) for kind in
                  (("add", "mul", "max", "min") if "reduction" in text else ("0", "1"))]
