//===- CudnnGraph.h - A graph of operations that cuDNN fuses --------------===//
//
// Wrapper of cuDNN's backend API (NVIDIA cuDNN documentation, "Graph API"): a
// graph of operations on tensors, the engines that can run it, and execution
// plans of these.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_CUDA_LIBRARY_CUDNNGRAPH_H
#define FRIT_RUNTIME_CUDA_LIBRARY_CUDNNGRAPH_H

#include "runtime/cuda/library/CudnnApi.h"

#include <initializer_list>

namespace frit::cuda {

struct DnnShape {
  int64_t dims[4], strides[4];
};

/// Backend attributes of a kind of operation: of its function and of its
/// tensors, result first. `alpha` is the attribute of the result's factor,
/// followed by that of the factor of its previous value; -1 if there is none.
/// `function` is -1 if the operation has none.
struct DnnOperation {
  int function, mode, modeType, mathType;
  int operation, ofFunction, tensors[6];
  int alpha = -1;
};
/// {c, a, b, m, n, k}; the last three are lengths in use, one per batch
/// element.
extern const DnnOperation kDnnProduct;
extern const DnnOperation kDnnReduce;      ///< {y, x}
extern const DnnOperation kDnnElementwise; ///< {y, x, b, t}
extern const DnnOperation kDnnReshape;     ///< {y, x}
extern const DnnOperation kDnnGradInput;   ///< {dx, dy, w}
extern const DnnOperation kDnnGradWeight;  ///< {dw, x, dy}

/// The window of a 2-d convolution.
struct DnnWindow {
  int64_t strides[2], dilations[2], padsBefore[2], padsAfter[2];
};

/// A graph under construction. `close` reports errors of all calls before it.
class CudnnGraph {
public:
  explicit CudnnGraph(const CudnnApi &dnn) : dnn(dnn) {}
  CudnnGraph(const CudnnGraph &) = delete;
  ~CudnnGraph();

  /// Creates a tensor. `run` takes pointers for those with memory, in the order
  /// of their creation.
  enum class Memory { none, device, host };
  DnnDescriptor tensor(int type, const DnnShape &shape,
                       Memory memory = Memory::none, int64_t alignment = 16);

  /// Adds an operation. `mode` selects the function if `kind` has several.
  /// Index operations work along `axis`. `tensors` may contain null.
  void add(const DnnOperation &kind, int mode, int mathType,
           std::initializer_list<DnnDescriptor> tensors, int64_t axis = -1);
  /// As above, for a convolution's gradient.
  void add(const DnnOperation &kind, const DnnWindow &window,
           std::initializer_list<DnnDescriptor> tensors);

  /// Finalizes the graph and finds its engines; false if there are none.
  bool close(DnnHandle handle) { return open(handle) && find(kDnnHeuristicsA); }
  /// As above, with the library's slow engines last. Excludes engines with one
  /// of the notes in `refused`, a bit for each DnnNote.
  bool close(DnnHandle handle, uint32_t refused);

  struct Engine {
    /// The library's engine number plus one, followed by two decimal digits
    /// per knob setting.
    uint32_t number;
    uint32_t index; ///< the library's engine number
    DnnDescriptor config;
    DnnDescriptor plan; ///< null if the engine cannot run the graph
    bool prepared;
    uint32_t notes; ///< a bit for each DnnNote
  };
  /// Engine configurations, in the library's order of preference.
  static constexpr int64_t kMostEngines = 96;
  Engine engines[kMostEngines] = {};
  int64_t engineCount = 0;

  /// Creates an engine's plan, unless it has one, with at most `workspaceBytes`
  /// of workspace. False if that is impossible.
  bool prepare(Engine &engine, uint64_t workspaceBytes);
  /// Runs the engine's plan on the handle's stream.
  bool run(const Engine &engine, void *const *pointers, void *workspace);

private:
  /// Maximum configurations per query. For f32, the library returns engines
  /// that round to TF32 first, which a call in strict f32 excludes.
  static constexpr int64_t kMostFound = 64;
  static constexpr int64_t kMostKnobs = 16, kMostOperations = 32;
  static constexpr int64_t kMostTensors = 64;
  static constexpr int64_t kMostDescriptors =
      kMostTensors + 2 * kMostOperations + 2 * kMostEngines + 2 * kMostKnobs +
      8;

  DnnDescriptor create(int kind);
  void set(DnnDescriptor to, int attribute, int type, const void *values,
           int64_t count = 1);
  /// Reads an attribute that holds descriptors into existing ones; returns
  /// their number.
  int64_t get(DnnDescriptor from, int attribute, DnnDescriptor *values,
              int64_t most);
  int64_t getInteger(DnnDescriptor from, int attribute);
  void finalize(DnnDescriptor descriptor);
  void addOperation(const DnnOperation &kind, DnnDescriptor function,
                    std::initializer_list<DnnDescriptor> tensors);
  /// Finalizes the graph.
  bool open(DnnHandle handle);
  /// Appends the engines of a heuristic mode; false if there are none at all.
  bool find(int mode);
  uint32_t notesOf(DnnDescriptor engine);

  const CudnnApi &dnn;
  DnnHandle handle = nullptr;
  DnnDescriptor graph = nullptr;
  DnnDescriptor all[kMostDescriptors], operations[kMostOperations];
  int64_t ids[kMostTensors]; ///< of the tensors with memory
  int64_t allCount = 0, operationCount = 0, idCount = 0, tensorCount = 0;
  bool valid = true;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_LIBRARY_CUDNNGRAPH_H
