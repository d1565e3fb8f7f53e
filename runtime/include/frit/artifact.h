//===- artifact.h - What a compiled model looks like in memory ------------===//
//
// The contract between the compiler, which writes it, and the runtime, which
// reads it. A compiled model is one `frit_image`, a constant in the object
// file:
//
//   frit_image ──▶ plan     Header, tables and blobs below; offsets only, so it
//              │            needs no relocation and can be checked before use
//              ├─▶ weights  the bytes of the embedded constants, or null
//              └─▶ kernels  host functions of the cpu target, in table order
//
// The plan is little endian, every struct is naturally aligned plain data, and
// every table starts at a multiple of 16 bytes. Nothing in it is trusted: the
// runtime checks magic, version and every range once, at load (see PlanView.h).
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_ARTIFACT_H
#define FRIT_ARTIFACT_H

#include "frit/image.h"

#include <cstdint>

namespace frit::artifact {

inline constexpr char kMagic[8] = {'F', 'R', 'I', 'T', 'P', 'L', 'A', 'N'};
inline constexpr uint32_t kVersion = 9;

/// Every buffer in an arena, in prepared memory and in the weights starts at a
/// multiple of this many bytes.
inline constexpr uint64_t kAlignment = 256;

/// A run of entries [first, first + count) of one of the plan's tables.
struct Range {
  uint32_t first = 0;
  uint32_t count = 0;
};

/// A run of bytes [offset, offset + size) of the plan, counted from its start.
struct Blob {
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// `size` bytes of UTF-8 at `offset` in the plan's string bytes; not
/// terminated.
struct Text {
  uint32_t offset = 0;
  uint32_t size = 0;
};

/// Where a table lies: `count` entries of a fixed struct from byte `offset` on.
struct Table {
  uint64_t offset = 0;
  uint64_t count = 0;
};

enum class DType : uint32_t {
  f32 = 1,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean, ///< one byte, 0 or 1
  f8e4m3,
  f8e5m2,
  f8e4m3fnuz, ///< from here on a byte each, however few bits are used
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i4,
  u4,
  i2,
  u2,
};

inline constexpr uint32_t kNone = ~0u;

/// A dimension that the model leaves open, such as "batch". A call may give it
/// any size in [least, most] for which there is a variant: one of just that
/// size or, where it is `padded`, one of a larger size.
struct Symbol {
  Text name;
  uint32_t padded = 0;
  uint32_t reserved = 0;
  int64_t least = 1, most = 1;
};

/// How long a dimension of a variant's tensor really is: factor · size +
/// offset, `size` being that of a symbol, an entry of Header::symbols, where
/// that is below the variant's, or what a call's data make of a count, the
/// number of one of the variant's counts; never more than the dimension. At
/// most one of both; all of the dimension where neither is there. Inputs have
/// no counts.
struct Extent {
  uint32_t symbol = kNone;
  uint32_t count = kNone;
  int64_t factor = 0, offset = 0;
};

/// A graph input or output of one variant: dense, row major. `dims` is a run of
/// Header::dims, `extents` one of Header::extents, as long, or empty where the
/// tensor is always all used.
struct Tensor {
  Text name;
  DType type = DType::f32;
  Range dims;
  Range extents;
  uint32_t symbol = 0; ///< whose size an input is, that is one: Variant::inputs
  uint64_t bytes = 0;
};

/// The model for one size of every symbol. Variants ascend: of two, the one
/// with the smaller size of the first symbol that they differ in comes first.
struct Variant {
  Range sizes; ///< of Header::dims, one per symbol
  /// Of Header::inputs, as many for every variant. The last Header::sizes of
  /// them are no inputs of the model but true sizes, which the runtime reads
  /// off a call's inputs: scalars of type i64, each the size of a symbol.
  Range inputs;
  /// Of Header::outputs, as many for every variant. The last Header::counts of
  /// them are no outputs of the model but its counts: scalars of type i64 that
  /// the steps compute, of how many entries other outputs have.
  Range outputs;
};

/// An original weight, under its name in the model.
struct Constant {
  Text name;
  DType type = DType::f32;
  Range dims;
  /// Read by a step of some target's main list, so it stays on the device; the
  /// others are needed only while the prepare list runs.
  uint32_t resident = 0;
  /// Bytes at `offset` of the image's weights, or of `file` where that is not
  /// empty (a path relative to the artifact's folder). In a safetensors file
  /// the name says where they are.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  Text file;
};

enum class Space : uint32_t {
  input,    ///< `index` counts the variant's inputs
  output,   ///< `index` counts the variant's outputs
  constant, ///< `index` is an entry of Header::constants
  arena,    ///< the context's scratch memory
  prepared, ///< the module's memory that the prepare list fills at load
};

/// Where an argument lives: `bytes` bytes from byte `offset` of a space's
/// memory.
struct Buffer {
  Space space = Space::arena;
  uint32_t index = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  /// Whether the step writes it; a step may also read what it writes.
  uint32_t written = 0;
  uint32_t reserved = 0;
};

enum class MapKind : uint32_t { tiled, im2col };

inline constexpr uint32_t kMaxMapRank = 5;

/// A descriptor of Hopper's tensor copies (TMA), which the runtime encodes for
/// the address of the step's argument. Innermost dimension first; `strides` are
/// the bytes from one entry of dimensions 1, 2, ... to the next. What lies
/// outside of the tensor reads as zero and is not written.
struct TensorMap {
  uint32_t argument = 0; ///< of the kernel's pointers
  MapKind kind = MapKind::tiled;
  DType type = DType::f32;
  uint32_t rank = 0;
  uint64_t offset = 0; ///< bytes, from the argument's start
  uint64_t dims[kMaxMapRank] = {};
  uint64_t strides[kMaxMapRank - 1] = {};
  uint32_t elementStrides[kMaxMapRank] = {};
  uint32_t swizzle = 0; ///< bytes that are shuffled together: 0, 32, 64 or 128
  /// tiled: elements of a copy. im2col: the window's corners over the spatial
  /// dimensions, and the channels and pixels of a copy.
  uint32_t box[kMaxMapRank] = {};
  int32_t lower[kMaxMapRank - 2] = {}, upper[kMaxMapRank - 2] = {};
  uint32_t channels = 0, pixels = 0;
  uint32_t reserved = 0;
};

/// Device code of some of a CUDA target's kernels: machine code for the
/// target's architecture, and PTX that newer devices translate. Of a target's
/// modules either all or none have the one, and the other.
struct DeviceModule {
  Blob cubin;
  Blob ptx;
};

/// A kernel of a target. On a CUDA target `name` is the symbol in `module`, an
/// entry of Header::modules within the target's run of them, and the parameters
/// are the step's arguments, one pointer each, in order, then a descriptor per
/// tensor map and then the scalars. Several kernels may have one symbol. On the
/// cpu target `host` is the index in the image's kernels.
struct Kernel {
  Text name;
  uint32_t host = 0;
  uint32_t module = kNone;
  /// Whether every block waits for the kernels before this one to end before it
  /// touches memory, so that it may be started ahead of that.
  uint32_t waits = 0;
  uint32_t reserved = 0;
  Range tensorMaps;   ///< of Header::tensorMaps
  Range scalars;      ///< of Header::dims; parameters of up to 64 bits
  uint64_t flops = 0; ///< of its contractions, for people
  /// Bytes of its arguments that it gathers or slices others of, for people.
  uint64_t skipped = 0;
  /// cpu: what each call needs beside the arguments, a multiple of kAlignment.
  /// Where it is not 0, the last argument of a launch is the workspace: so much
  /// for each of the calls that may run at the same time.
  uint64_t workspaceBytes = 0;
};

enum class StepKind : uint32_t {
  launch,    ///< `kernel` over the step's arguments
  gemm,      ///< `problem` is an entry of Header::gemms
  conv,      ///< `problem` is an entry of Header::convs
  copy,      ///< copies argument 0 over argument 1, the same number of bytes
  attention, ///< `problem` is an entry of Header::attentions
  guard,     ///< `problem` is an entry of Header::guards
};

/// One thing the runtime does, after every step before it unless `follows` says
/// after which. A gemm or conv whose library is missing, or declines, launches
/// `kernel` instead, over the same arguments without the workspace; `kernel` is
/// kNone where none exists, and else an entry of Header::kernels within its
/// target's run of them.
struct Step {
  StepKind kind = StepKind::launch;
  uint32_t kernel = kNone;
  uint32_t problem = 0;
  /// CUDA: blocks, threads and dynamic shared bytes. cpu: grid[0] is the number
  /// of independent work items, which may be split over threads.
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t sharedBytes = 0;
  Range arguments; ///< of Header::buffers
  Text node;       ///< the model's nodes this step computes, for people
  /// Of Header::follows: the steps before this one in its list that have ended
  /// when it starts, as has what they follow. Where `first` is kNone, all have.
  Range follows = {kNone, 0};
};

/// How a contraction multiplies and accumulates; accumulation is never below
/// f32.
enum class Compute : uint32_t {
  f32,  ///< IEEE single, no TF32
  tf32, ///< f32 operands, products rounded to TF32
  f16,  ///< 16-bit operands, f32 accumulation (bf16 too)
  f64,
  i32, ///< 8-bit operands, exact 32-bit sums
};

enum class Activation : uint32_t { none, relu, geluTanh, gelu, silu };

/// D[b] = act(A[b]·B[b] + bias + R[b]) for b < batch, all row major:
/// A is m×k, or k×m where `transposeA`; B is k×n, or n×k where `transposeB`;
/// D and R are m×n; bias is n. `ld*` are elements between rows as stored and
/// `stride*` elements between matrices (0 repeats one).
/// Arguments: A, B, [bias], [R], D, [workspace].
struct Gemm {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t strideA = 0, strideB = 0, strideD = 0;
  uint32_t transposeA = 0, transposeB = 0;
  DType typeA = DType::f32, typeB = DType::f32, typeD = DType::f32;
  Compute compute = Compute::f32;
  uint32_t hasBias = 0, hasResidual = 0;
  Activation activation = Activation::none;
  /// The number that the runtime gave the algorithm that was timed as the
  /// fastest; 0: the library chooses.
  uint32_t algorithm = 0;
  uint64_t workspaceBytes = 0;
};

/// y = act(conv(x, w) + bias + R), cross-correlation as in ONNX Conv, two
/// spatial dimensions (a 1-d one has h = 1). Channels-last: x is n·h·w·c, w is
/// k·r·s·(c/groups), y is n·p·q·k. Otherwise x is n·c·h·w, w is
/// k·(c/groups)·r·s, y is n·k·p·q. bias is k, R is shaped like y.
/// Arguments: x, w, [bias], [R], y, [workspace].
struct Conv {
  int64_t n = 0, c = 0, h = 0, w = 0; ///< x
  int64_t k = 0, r = 0, s = 0;        ///< filters, filter height and width
  int64_t p = 0, q = 0;               ///< y's height and width
  int64_t strideH = 1, strideW = 1;
  int64_t dilationH = 1, dilationW = 1;
  int64_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;
  int64_t groups = 1;
  uint32_t channelsLast = 0;
  DType type = DType::f32; ///< of x, w, bias, R and y
  Compute compute = Compute::f32;
  uint32_t hasBias = 0, hasResidual = 0;
  Activation activation = Activation::none;
  uint32_t algorithm = 0; ///< as in Gemm
  uint32_t reserved = 0;
  uint64_t workspaceBytes = 0;
};

/// Where a tensor of four dimensions lies in argument `argument` of a step:
/// element i at `offset` + Σ i[d] · `strides[d]`, counted in elements.
struct StridedOperand {
  uint32_t argument = 0;
  uint32_t reserved = 0;
  int64_t offset = 0;
  int64_t strides[4] = {};
};

/// y = softmax(q · kᵀ · scale + mask) · v, head by head. q is
/// batch×heads×queries×size, k batch×groups×keys×size, v
/// batch×groups×keys×valueSize and y batch×heads×queries×valueSize; each of the
/// groups serves heads/groups heads in a row. `mask` is
/// batch×heads×queries×keys. With `causal` query i sees keys 0 to i only.
/// Arguments: `inputs` of them, y, [workspace].
struct Attention {
  int64_t batch = 0, heads = 0, groups = 0;
  int64_t queries = 0, keys = 0, size = 0, valueSize = 0;
  StridedOperand q, k, v, mask, y;
  uint32_t inputs = 0;
  float scale = 1;
  uint32_t causal = 0, hasMask = 0;
  DType type = DType::f16; ///< of all but the mask
  DType typeMask = DType::f16;
  uint32_t algorithm = 0; ///< as in Gemm
  uint32_t reserved = 0;
  uint64_t workspaceBytes = 0;
};

/// The next `steps` steps of the list are needed only where the byte that is
/// the guard's argument is not 0 or, without `when`, is 0. Else what they would
/// have written may be anything, so a runtime may run them all the same. Guards
/// nest.
struct Guard {
  uint32_t steps = 0;
  uint32_t when = 1;
};

/// What a call of one variant does on one target.
struct Program {
  Range steps; ///< of Header::steps
  uint64_t arenaBytes = 0;
  uint64_t arenaLowerBound = 0; ///< peak of live bytes; what no placement beats
};

/// One `-march`: its own code and lists of steps. Variants share the code, the
/// weights and what is prepared from them.
struct Target {
  Text arch;      ///< "sm_90a", "x86-64-v3"
  Range modules;  ///< of Header::modules; none on cpu
  Range kernels;  ///< of Header::kernels
  Range prepare;  ///< of Header::steps, run once per module
  Range programs; ///< of Header::programs, one per variant
  uint64_t prepareArenaBytes = 0;
  uint64_t preparedBytes = 0;
};

struct Header {
  char magic[8] = {};
  uint32_t version = kVersion;
  uint32_t headerBytes = 0; ///< sizeof(Header), so that a reader knows a writer
  uint64_t bytes = 0;       ///< of the whole plan
  uint64_t weightBytes = 0; ///< what the image's weights must hold
  Text model;               ///< its name in the source file
  Text producer;            ///< "frit 0.1.0"
  Blob strings;
  uint32_t counts = 0; ///< of every variant, whose last outputs they are
  uint32_t sizes = 0;  ///< of every variant, whose last inputs they are
  Table dims;          ///< of int64_t
  Table symbols;       ///< of Symbol; empty where all shapes are fixed
  Table extents;       ///< of Extent
  Table variants;      ///< of Variant; one where all shapes are fixed
  Table inputs;        ///< of Tensor
  Table outputs;       ///< of Tensor
  Table constants;     ///< of Constant
  Table buffers;       ///< of Buffer
  Table modules;       ///< of DeviceModule
  Table kernels;       ///< of Kernel
  Table tensorMaps;    ///< of TensorMap
  Table gemms;         ///< of Gemm
  Table convs;         ///< of Conv
  Table attentions;    ///< of Attention
  Table guards;        ///< of Guard
  Table steps;         ///< of Step
  Table follows;  ///< of uint32_t, which count from the first step of a list
  Table programs; ///< of Program
  Table targets;  ///< of Target
};

} // namespace frit::artifact

#endif // FRIT_ARTIFACT_H
