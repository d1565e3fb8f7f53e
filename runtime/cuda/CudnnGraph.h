//===- CudnnGraph.h - Operations that cuDNN runs as one kernel ------------===//
//
// cuDNN's backend API (NVIDIA cuDNN documentation, "Graph API"): a graph of
// operations on tensors, which engines recognise, and a plan of one of them,
// which runs it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CUDA_CUDNNGRAPH_H
#define FRIT_CUDA_CUDNNGRAPH_H

#include "runtime/cuda/CudnnApi.h"

#include <initializer_list>

namespace frit::cuda {

struct DnnShape {
  int64_t dims[4], strides[4];
};

/// How a kind of operation is described: by the function that it applies, and
/// its tensors, the result first.
struct DnnOperation {
  int function, mode, modeType, mathType;
  int operation, ofFunction, tensors[4];
};
extern const DnnOperation kDnnProduct;     ///< {c, a, b}
extern const DnnOperation kDnnReduce;      ///< {y, x}
extern const DnnOperation kDnnElementwise; ///< {y, x, b, t}

/// What goes wrong while a graph is built shows when it is closed.
class CudnnGraph {
public:
  explicit CudnnGraph(const CudnnApi &dnn) : dnn(dnn) {}
  CudnnGraph(const CudnnGraph &) = delete;
  ~CudnnGraph();

  /// Tensors in memory are what `run` takes pointers for, in the order that
  /// they are made in.
  enum class Memory { none, device, host };
  DnnDescriptor tensor(int type, const DnnShape &shape,
                       Memory memory = Memory::none, int64_t alignment = 16);

  /// `mode` is the function's, where there are several; an index is along
  /// `axis`. Null where there is no tensor.
  void add(const DnnOperation &kind, int mode, int mathType,
           std::initializer_list<DnnDescriptor> tensors, int64_t axis = -1);

  /// Finds the engines for the graph; false where there are none.
  bool close(DnnHandle handle);

  struct Engine {
    /// The library's number of it, from one on, and behind that in two digits
    /// each how its knobs are set.
    uint32_t number;
    DnnDescriptor config;
    DnnDescriptor plan; ///< null where there can be none
    bool prepared;
  };
  /// As they are set for the graph, the library's favourite first.
  static constexpr int64_t kMostEngines = 16;
  Engine engines[kMostEngines] = {};
  int64_t engineCount = 0;

  /// Makes an engine's plan, of at most so many bytes of workspace, if there is
  /// none yet. False where there can be none.
  bool prepare(Engine &engine, uint64_t workspaceBytes);
  /// Runs that plan on the handle's stream.
  bool run(const Engine &engine, void *const *pointers, void *workspace);

private:
  static constexpr int64_t kMostKnobs = 16, kMostOperations = 24;
  static constexpr int64_t kMostTensors = 24;
  static constexpr int64_t kMostDescriptors =
      kMostTensors + 2 * kMostOperations + 2 * kMostEngines + kMostKnobs + 8;

  DnnDescriptor create(int kind);
  void set(DnnDescriptor to, int attribute, int type, const void *values,
           int64_t count = 1);
  /// Fills in descriptors that an attribute holds, which need to be there, and
  /// says how many it has.
  int64_t get(DnnDescriptor from, int attribute, DnnDescriptor *values,
              int64_t most);
  int64_t getInteger(DnnDescriptor from, int attribute);
  void finalize(DnnDescriptor descriptor);

  const CudnnApi &dnn;
  DnnHandle handle = nullptr;
  DnnDescriptor all[kMostDescriptors], operations[kMostOperations];
  int64_t ids[kMostTensors]; ///< of the tensors in memory
  int64_t allCount = 0, operationCount = 0, idCount = 0, tensorCount = 0;
  bool valid = true;
};

} // namespace frit::cuda

#endif // FRIT_CUDA_CUDNNGRAPH_H
