//===- CudnnGraph.cpp - A graph of operations that cuDNN fuses ------------===//

#include "runtime/cuda/CudnnGraph.h"

#include <cassert>

using namespace frit::cuda;

const DnnOperation frit::cuda::kDnnProduct = {
    kDnnMatmul,
    /*mode=*/-1,
    /*modeType=*/-1,
    kDnnMatmulType,
    kDnnMatmulOperation,
    kDnnMatmulDescriptor,
    {kDnnMatmulC, kDnnMatmulA, kDnnMatmulB}};
const DnnOperation frit::cuda::kDnnReduce = {kDnnReduction,
                                             kDnnReductionOperator,
                                             kDnnOfReduction,
                                             kDnnReductionType,
                                             kDnnReductionOperation,
                                             kDnnReductionDescriptor,
                                             {kDnnReductionY, kDnnReductionX}};
const DnnOperation frit::cuda::kDnnElementwise = {
    kDnnPointwise,
    kDnnPointwiseMode,
    kDnnOfPointwiseMode,
    kDnnPointwiseType,
    kDnnPointwiseOperation,
    kDnnPointwiseDescriptor,
    {kDnnPointwiseY, kDnnPointwiseX, kDnnPointwiseB, kDnnPointwiseT}};

CudnnGraph::~CudnnGraph() {
  while (allCount)
    dnn.descriptorDestroy(all[--allCount]);
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

DnnDescriptor CudnnGraph::create(int kind) {
  assert(allCount < kMostDescriptors);
  DnnDescriptor created = nullptr;
  if (dnn.descriptorCreate(kind, &created))
    valid = false;
  else
    all[allCount++] = created;
  return created;
}

void CudnnGraph::set(DnnDescriptor to, int attribute, int type,
                     const void *values, int64_t count) {
  valid = valid && !dnn.descriptorSet(to, attribute, type, count, values);
}

int64_t CudnnGraph::get(DnnDescriptor from, int attribute,
                        DnnDescriptor *values, int64_t most) {
  int64_t count = 0;
  valid = valid && !dnn.descriptorGet(from, attribute, kDnnOfDescriptor, most,
                                      &count, values);
  return !valid ? 0 : count < most ? count : most;
}

int64_t CudnnGraph::getInteger(DnnDescriptor from, int attribute) {
  int64_t value = 0, count = 0;
  valid = valid &&
          !dnn.descriptorGet(from, attribute, kDnnOfInt64, 1, &count, &value);
  return value;
}

void CudnnGraph::finalize(DnnDescriptor descriptor) {
  valid = valid && !dnn.descriptorFinalize(descriptor);
}

//===----------------------------------------------------------------------===//
// Tensors and operations
//===----------------------------------------------------------------------===//

DnnDescriptor CudnnGraph::tensor(int type, const DnnShape &shape, Memory memory,
                                 int64_t alignment) {
  assert(tensorCount < kMostTensors);
  DnnDescriptor made = create(kDnnTensorDescriptor);
  int64_t id = ++tensorCount;
  bool isVirtual = memory == Memory::none, isByValue = memory == Memory::host;
  if (!isVirtual)
    ids[idCount++] = id;
  const struct {
    int attribute, type;
    const void *values;
    int64_t count;
  } settings[] = {{kDnnTensorType, kDnnOfDataType, &type, 1},
                  {kDnnTensorDims, kDnnOfInt64, shape.dims, 4},
                  {kDnnTensorStrides, kDnnOfInt64, shape.strides, 4},
                  {kDnnTensorId, kDnnOfInt64, &id, 1},
                  {kDnnTensorAlignment, kDnnOfInt64, &alignment, 1},
                  {kDnnTensorIsVirtual, kDnnOfBoolean, &isVirtual, 1},
                  {kDnnTensorIsByValue, kDnnOfBoolean, &isByValue, 1}};
  for (const auto &setting : settings)
    set(made, setting.attribute, setting.type, setting.values, setting.count);
  finalize(made);
  return made;
}

void CudnnGraph::add(const DnnOperation &kind, int mode, int mathType,
                     std::initializer_list<DnnDescriptor> tensors,
                     int64_t axis) {
  assert(operationCount < kMostOperations);
  DnnDescriptor function = create(kind.function);
  if (kind.mode >= 0)
    set(function, kind.mode, kind.modeType, &mode);
  set(function, kind.mathType, kDnnOfDataType, &mathType);
  if (axis >= 0)
    set(function, kDnnPointwiseAxis, kDnnOfInt64, &axis);
  finalize(function);
  DnnDescriptor operation = create(kind.operation);
  set(operation, kind.ofFunction, kDnnOfDescriptor, &function);
  const int *attribute = kind.tensors;
  for (const DnnDescriptor &tensor : tensors) {
    if (tensor)
      set(operation, *attribute, kDnnOfDescriptor, &tensor);
    ++attribute;
  }
  finalize(operation);
  operations[operationCount++] = operation;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

bool CudnnGraph::close(DnnHandle with) {
  handle = with;
  DnnDescriptor graph = create(kDnnOperationGraph);
  set(graph, kDnnGraphHandle, kDnnOfHandle, &handle);
  set(graph, kDnnGraphOperations, kDnnOfDescriptor, operations, operationCount);
  finalize(graph);
  DnnDescriptor heuristics = create(kDnnEngineHeuristics);
  set(heuristics, kDnnHeuristicsGraph, kDnnOfDescriptor, &graph);
  set(heuristics, kDnnHeuristicsMode, kDnnOfHeuristicsMode, &kDnnHeuristicsA);
  finalize(heuristics);

  DnnDescriptor configs[kMostEngines], knobs[kMostKnobs];
  for (DnnDescriptor &config : configs)
    config = create(kDnnEngineConfig);
  for (DnnDescriptor &knob : knobs)
    knob = create(kDnnKnobChoice);
  DnnDescriptor engine = create(kDnnEngine);
  int64_t count = get(heuristics, kDnnHeuristicsResults, configs, kMostEngines);
  for (int64_t i = 0; i < count; ++i) {
    get(configs[i], kDnnConfigEngine, &engine, 1);
    uint32_t number = uint32_t(getInteger(engine, kDnnEngineIndex)) + 1;
    int64_t set = get(configs[i], kDnnConfigKnobs, knobs, kMostKnobs);
    for (int64_t knob = 0; knob < set; ++knob)
      number = number * 100 + uint32_t(getInteger(knobs[knob], kDnnKnobValue));
    engines[i] = {number, configs[i], nullptr, false};
  }
  engineCount = valid ? count : 0;
  return engineCount > 0;
}

bool CudnnGraph::prepare(Engine &engine, uint64_t workspaceBytes) {
  if (!engine.prepared) {
    engine.prepared = true;
    // Another engine may succeed.
    valid = true;
    DnnDescriptor plan = create(kDnnExecutionPlan);
    set(plan, kDnnPlanHandle, kDnnOfHandle, &handle);
    set(plan, kDnnPlanConfig, kDnnOfDescriptor, &engine.config);
    finalize(plan);
    uint64_t bytes = uint64_t(getInteger(plan, kDnnPlanWorkspace));
    if (valid && bytes <= workspaceBytes)
      engine.plan = plan;
  }
  return engine.plan != nullptr;
}

bool CudnnGraph::run(const Engine &engine, void *const *pointers,
                     void *workspace) {
  DnnDescriptor pack = nullptr;
  if (dnn.descriptorCreate(kDnnVariantPack, &pack))
    return false;
  valid = true;
  set(pack, kDnnPackIds, kDnnOfInt64, ids, idCount);
  set(pack, kDnnPackPointers, kDnnOfPointer, pointers, idCount);
  set(pack, kDnnPackWorkspace, kDnnOfPointer, &workspace);
  finalize(pack);
  bool done = valid && !dnn.execute(handle, engine.plan, pack);
  dnn.descriptorDestroy(pack);
  return done;
}
