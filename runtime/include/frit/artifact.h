//===- artifact.h - Binary layout of a compiled model ---------------------===//
//
// Written by the compiler, read by the runtime. A compiled model is one
// `frit_image`, a constant in the object file:
//
//   frit_image ──▶ plan     Header, tables and blobs below; offsets only, so it
//              │            needs no relocation and can be checked before use
//              ├─▶ weights  the bytes of the embedded constants, or null
//              └─▶ kernels  host functions of the cpu target, in table order
//
// An artifact has one or more functions, such as a training step and an
// evaluation step, each with its own inputs, outputs and steps. All share the
// weights, the code and the prepared weights of each target, and the state,
// which a context keeps from call to call.
//
// The plan is little endian. Every struct is naturally aligned plain data, and
// every table starts at a multiple of 16 bytes. The runtime trusts none of it:
// it checks magic, version and every range once, at load (see PlanView.h).
// artifact_types.h has what all structs share, artifact_library.h the problems
// of library calls, artifact_strings.h what a model does with strings.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_ARTIFACT_H
#define FRIT_ARTIFACT_H

#include "frit/artifact_library.h"
#include "frit/artifact_strings.h"
#include "frit/artifact_types.h"
#include "frit/collectives.h"
#include "frit/image.h"
#include "frit/plan_tables.h"
#include "frit/roles.h"
#include "frit/step_kinds.h"

namespace frit::artifact {

inline constexpr char kMagic[8] = {'F', 'R', 'I', 'T', 'P', 'L', 'A', 'N'};
inline constexpr uint32_t kVersion = 21;

/// A symbolic dimension of a function, such as "batch". A call may give it any
/// multiple of `multiple` in [least, most] for which there is a variant: one of
/// exactly that size or, if the symbol is `padded`, a larger one.
struct Symbol {
  Text name;
  uint32_t padded = 0;
  uint32_t multiple = 1; ///< at least 1
  int64_t least = 1, most = 1;
};

/// The length that a call uses of one dimension of a variant's tensor:
///
///   symbol set (not kNone)  factor · ⌊(s + shift) / divisor⌋ + offset, where s
///                           is the call's size of the function's symbol of
///                           that number
///   count set               factor · c + offset, where c is the value of the
///                           variant's count of that number (outputs only)
///   neither                 the whole dimension
///
/// At most one of the two is set. The length never exceeds the dimension.
struct Extent {
  uint32_t symbol = kNone;
  uint32_t count = kNone;
  int64_t factor = 0, offset = 0;
  /// Windows with a stride leave a part of their input. 1 and 0 of inputs and
  /// of counts; else 0 ≤ shift < divisor.
  int64_t divisor = 1, shift = 0;
};

/// Indices that an operator takes from a box of a tensor, whose values are from
/// `least` to `most`, or `other`. Where these are the variant's entries of a
/// dimension and a call has fewer, `leastOf` and `mostOf` tell the call's: they
/// have a symbol, or the bound holds for all calls.
struct IndexRange {
  Text use;           ///< of the indices, for messages
  Range first, sizes; ///< of Header::dims: the box, as many as the rank
  int64_t least = 0, most = 0;
  int64_t other = 0; ///< `least` if there is none
  Extent leastOf, mostOf;
};

/// An input or output of one variant: dense, row major. `dims` is a range of
/// Header::dims. `extents` is a range of Header::extents of the same length, or
/// empty if every call uses the whole tensor.
///
/// `indices` is a range of Header::indices. On an input, it lists the elements
/// that the model takes as indices. On a count, which then is a check: there is
/// one, and its box is the tensor of indices that was checked. The count is -(n
/// + 1) of the first element out of range, for n = place · 2^32 + (value +
/// 2^31), with the value saturated to 32 bits; it is not negative if there is
/// none.
struct Tensor {
  Text name;
  DType type = DType::f32;
  Range dims;
  Range extents;
  Range indices;
  uint32_t symbol = 0; ///< of a true-size input (Variant::inputs), in Function
  uint64_t bytes = 0;
};

/// A function compiled for one size of every symbol. Variants are sorted by
/// their sizes, lexicographically in the order of the symbols.
struct Variant {
  Range sizes; ///< of Header::dims, one per symbol
  /// Range of Header::inputs, as long in every variant. The last
  /// Function::sizes of them are not the model's: they are true sizes, i64
  /// scalars that the runtime fills with the call's symbol sizes. Before these
  /// are the inputs that string steps compute (see artifact_strings.h).
  Range inputs;
  /// Range of Header::outputs, as long in every variant. The last
  /// Function::counts of them are not the model's: they are counts, i64 scalars
  /// that steps compute and that give the lengths of data-dependent outputs.
  Range outputs;
};

/// A weight of the model, with its name in the model.
struct Constant {
  Text name;
  DType type = DType::f32;
  Range dims;
  /// Whether a step of a call reads it, so that it stays on the device. Other
  /// constants are needed only while the prepare list runs.
  uint32_t resident = 0;
  /// Position of its bytes: at `offset` of the image's weights or, if `file` is
  /// not empty, of that file (a path relative to the artifact's folder). In a
  /// safetensors file it is found by name instead.
  uint64_t offset = 0;
  uint64_t bytes = 0;
  Text file;
};

/// A named tensor of the state memory: dense, row major, from byte `offset` on.
/// Every context has its own state memory, all zeros before the tensors are set
/// to their constants.
struct State {
  Text name;                        ///< unique
  uint32_t role = FRIT_STATE_OTHER; ///< frit_state_role
  DType type = DType::f32;
  Range dims; ///< of Header::dims
  /// Entry of Header::constants, of the same type and size; kNone: zeros.
  uint32_t constant = kNone;
  uint32_t reserved = 0;
  uint64_t offset = 0, bytes = 0;
};

/// Elements per shard row. Ranks divide tensors into shards of whole rows.
inline constexpr uint64_t kShardRow = 4096;

/// A part of the state memory that ranks divide: `rows` rows of f32 from byte
/// `offset` on. These parts are after all other state and are initialized to
/// zeros.
struct ShardedState {
  uint64_t offset = 0, rows = 0;

  uint64_t bytes() const { return rows * kShardRow * 4; }
};

/// A part of the state memory, without tensors of its own, that another part
/// determines: weights in 16 bits, for example. The derive list of a target
/// computes it. It is stale in a new context, after a write to a tensor of its
/// source, and after a call that writes its source but not this part.
struct DerivedState {
  uint64_t offset = 0, bytes = 0;
  uint64_t source = 0, sourceBytes = 0; ///< the other part
};

/// Rows [begin, end) of a tensor.
struct Shard {
  uint64_t begin = 0, end = 0;

  uint64_t rows() const { return end - begin; }
};

/// Returns a rank's shard of a tensor. NCCL requires shards of equal size; the
/// last rank also has the remainder.
constexpr Shard shardOf(uint64_t rows, uint32_t rank, uint32_t ranks) {
  uint64_t each = rows / ranks;
  return {rank * each, rank + 1 == ranks ? rows : (rank + 1) * each};
}

enum class Space : uint32_t {
  input,    ///< `index` counts the variant's inputs
  output,   ///< `index` counts the variant's outputs
  constant, ///< `index` is an entry of Header::constants
  arena,    ///< the context's scratch memory
  prepared, ///< the module's memory that the prepare list fills at load
  state,    ///< the context's state memory; not in a prepare list
};

/// Memory of an argument: `bytes` bytes from byte `offset` of a space.
struct Buffer {
  Space space = Space::arena;
  uint32_t index = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  /// Whether the step writes it. It may read it as well.
  uint32_t written = 0;
  uint32_t type = 0; ///< DType of its elements; 0 if it is not known
};

enum class MapKind : uint32_t { tiled, im2col };

inline constexpr uint32_t kMaxMapRank = 5;

/// A TMA descriptor (Hopper's tensor memory accelerator). The runtime encodes
/// it for the address of the step's argument. Innermost dimension first;
/// `strides` are in bytes, of dimensions 1, 2, …. Elements outside of the
/// tensor read as zero and are not written.
struct TensorMap {
  uint32_t argument = 0; ///< index of the kernel's pointer
  MapKind kind = MapKind::tiled;
  DType type = DType::f32;
  uint32_t rank = 0;
  uint64_t offset = 0; ///< bytes, from the argument's start
  uint64_t dims[kMaxMapRank] = {};
  uint64_t strides[kMaxMapRank - 1] = {};
  uint32_t elementStrides[kMaxMapRank] = {};
  uint32_t swizzle = 0; ///< swizzle span in bytes: 0, 32, 64 or 128
  /// tiled: box size in elements. im2col: the window's lower and upper corners
  /// in the spatial dimensions, and channels and pixels per copy.
  uint32_t box[kMaxMapRank] = {};
  int32_t lower[kMaxMapRank - 2] = {}, upper[kMaxMapRank - 2] = {};
  uint32_t channels = 0, pixels = 0;
  uint32_t reserved = 0;

  bool operator==(const TensorMap &) const = default;
};

/// Device code of some kernels of a CUDA target: a cubin for the target's
/// architecture, and PTX for newer devices. All modules of a target have a
/// cubin, or none has; likewise PTX.
struct DeviceModule {
  Blob cubin;
  Blob ptx;
};

/// A kernel of a target. CUDA: `name` is its symbol in `module`, an index
/// within the target's range of Header::modules. Its parameters are the step's
/// arguments (one pointer each, in order), then one descriptor per tensor map,
/// then the scalars. Several kernels may share a symbol. CPU: `host` is its
/// index in the image's kernels.
struct Kernel {
  Text name;
  uint32_t host = 0;
  uint32_t module = kNone;
  /// Whether the kernel is written for programmatic dependent launch: every
  /// block waits for the preceding kernels before it accesses memory, so the
  /// runtime may launch it before they end.
  uint32_t waits = 0;
  uint32_t reserved = 0;
  Range tensorMaps;   ///< of Header::tensorMaps
  Range scalars;      ///< of Header::dims; parameters of up to 64 bits
  uint64_t flops = 0; ///< of its contractions, for reports
  /// Bytes of its arguments that it does not access, since it gathers or
  /// slices; for reports.
  uint64_t skipped = 0;
  /// cpu: bytes of scratch memory per concurrent call of the host function, a
  /// multiple of kAlignment. If not 0, the last argument of a launch is the
  /// workspace of all concurrent calls.
  uint64_t workspaceBytes = 0;
};

/// One step of a list. It runs when the steps that `follows` names have ended.
/// If the library of a gemm, conv or attention is missing or declines,
/// the step launches `kernel` with the same arguments except the workspace.
/// `kernel` indexes the target's range of Header::kernels; kNone if there is
/// none.
struct Step {
  StepKind kind = StepKind::launch;
  uint32_t kernel = kNone;
  uint32_t problem = 0;
  /// CUDA: blocks, threads per block and dynamic shared memory in bytes. cpu:
  /// grid[0] is the number of independent work items, which may be split over
  /// threads.
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t sharedBytes = 0;
  /// launch: if not 0, each rank launches it for its shard of this number of
  /// rows. Arguments have as many rows or are scalars, and the kernel is
  /// elementwise. CUDA: the kernel takes any grid, and its only scalar
  /// parameter is the number of elements. cpu: work items are consecutive
  /// elements.
  uint32_t shardRows = 0;
  Range arguments; ///< of Header::buffers
  Text node;       ///< the model's nodes this step computes, for reports
  /// Range of Header::follows: the earlier steps that must have ended, together
  /// with all that these follow. A step in a guard names the guard or others in
  /// it, at least one; no step names a step in a guard that it is not in. To
  /// follow a guard from outside is to follow its steps. An await names the
  /// collectives that it waits for; they do not run, and it does not wait for
  /// what they follow, in a context that has joined no group.
  Range follows;
};

/// Returns the name of a checked step's kind in reports.
constexpr const char *kindName(const Step &step) {
  return step.kind == StepKind::collective
             ? traitsOf(Collective(step.problem)).name
             : kStepKinds[uint32_t(step.kind)];
}

/// The next `steps` steps are needed only if the byte that is the guard's
/// argument is nonzero (`when` = 1) or zero (`when` = 0). Otherwise they must
/// not run if one of them writes state memory, and need not run if none does:
/// nothing reads their results. Guards nest.
struct Guard {
  uint32_t steps = 0;
  uint32_t when = 1;
};

/// The work of a call of one variant on one target.
struct Program {
  Range steps; ///< of Header::steps
  uint64_t arenaBytes = 0;
  uint64_t arenaLowerBound = 0; ///< peak of live bytes, for any placement
};

/// Code and steps for one `-march`, shared by all functions. Prepares the
/// weights once per module, and has a program for every variant.
struct Target {
  Text arch;     ///< "sm_90a", "x86-64-v3"
  Range modules; ///< of Header::modules; none on cpu
  Range kernels; ///< of Header::kernels
  Range prepare; ///< of Header::steps, run once per module
  /// Of Header::steps: launches and copies, run before a call that reads a
  /// derived state which is stale. They may use the arena of a call.
  Range derive;
  Range programs; ///< of Header::programs, one per entry of Header::variants
  uint64_t prepareArenaBytes = 0;
  uint64_t preparedBytes = 0;
};

/// A function that a program opens and calls. Its symbols and variants follow
/// those of the previous function in their tables.
struct Function {
  Text name;                               ///< unique
  uint32_t role = FRIT_FUNCTION_INFERENCE; ///< frit_function_role
  Range symbols;       ///< of Header::symbols; none where all shapes are fixed
  Range variants;      ///< of Header::variants; one where all shapes are fixed
  uint32_t counts = 0; ///< per variant; its last outputs
  uint32_t sizes = 0;  ///< true sizes per variant; its last inputs
};

struct Header {
  char magic[8] = {};
  uint32_t version = kVersion;
  uint32_t headerBytes = 0; ///< sizeof(Header) of the writer
  uint64_t bytes = 0;       ///< of the whole plan
  uint64_t weightBytes = 0; ///< of the image's weights
  Text model;               ///< its name in the source file
  Text producer;            ///< "frit 0.1.0"
  Blob strings;
  uint64_t stateBytes = 0; ///< of a context's state memory
#define TABLE(name, Entry, words) TableOf<Entry> name;
  FRIT_PLAN_TABLES(TABLE)
#undef TABLE
};

} // namespace frit::artifact

#endif // FRIT_ARTIFACT_H
