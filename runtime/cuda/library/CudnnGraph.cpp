//===- CudnnGraph.cpp - A graph of operations that cuDNN fuses ------------===//

#include "runtime/cuda/library/CudnnGraph.h"

#include <algorithm>
#include <cassert>

using namespace frit::cuda;

const DnnOperation frit::cuda::kDnnProduct = {kDnnMatmul,
                                              /*mode=*/-1,
                                              /*modeType=*/-1,
                                              kDnnMatmulType,
                                              kDnnMatmulOperation,
                                              kDnnMatmulDescriptor,
                                              {kDnnMatmulC, kDnnMatmulA,
                                               kDnnMatmulB, kDnnMatmulM,
                                               kDnnMatmulN, kDnnMatmulK}};
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
const DnnOperation frit::cuda::kDnnReshape = {
    /*function=*/-1,   /*mode=*/-1,
    /*modeType=*/-1,
    /*mathType=*/-1,   kDnnReshapeOperation,
    /*ofFunction=*/-1, {kDnnReshapeY, kDnnReshapeX}};
const DnnOperation frit::cuda::kDnnGradInput = {
    kDnnConvolutionKind,
    kDnnConvolutionMode,
    kDnnOfConvolutionMode,
    kDnnConvolutionType,
    kDnnGradInputOperation,
    kDnnGradInputDescriptor,
    {kDnnGradInputDx, kDnnGradInputDy, kDnnGradInputW},
    kDnnGradInputAlpha};
const DnnOperation frit::cuda::kDnnGradWeight = {
    kDnnConvolutionKind,
    kDnnConvolutionMode,
    kDnnOfConvolutionMode,
    kDnnConvolutionType,
    kDnnGradWeightOperation,
    kDnnGradWeightDescriptor,
    {kDnnGradWeightDw, kDnnGradWeightX, kDnnGradWeightDy},
    kDnnGradWeightAlpha};

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
  if (kind.function < 0)
    return addOperation(kind, nullptr, tensors);
  DnnDescriptor function = create(kind.function);
  if (kind.mode >= 0)
    set(function, kind.mode, kind.modeType, &mode);
  set(function, kind.mathType, kDnnOfDataType, &mathType);
  if (axis >= 0)
    set(function, kDnnPointwiseAxis, kDnnOfInt64, &axis);
  finalize(function);
  addOperation(kind, function, tensors);
}

void CudnnGraph::add(const DnnOperation &kind, const DnnWindow &window,
                     std::initializer_list<DnnDescriptor> tensors) {
  DnnDescriptor function = create(kind.function);
  const int64_t rank = 2;
  set(function, kind.mode, kind.modeType, &kDnnCrossCorrelation);
  const int mathType = kDnnFloat;
  set(function, kind.mathType, kDnnOfDataType, &mathType);
  set(function, kDnnConvolutionRank, kDnnOfInt64, &rank);
  const struct {
    int attribute;
    const int64_t *values;
  } settings[] = {{kDnnConvolutionStrides, window.strides},
                  {kDnnConvolutionDilations, window.dilations},
                  {kDnnConvolutionPadsBefore, window.padsBefore},
                  {kDnnConvolutionPadsAfter, window.padsAfter}};
  for (const auto &setting : settings)
    set(function, setting.attribute, kDnnOfInt64, setting.values, rank);
  finalize(function);
  addOperation(kind, function, tensors);
}

void CudnnGraph::addOperation(const DnnOperation &kind, DnnDescriptor function,
                              std::initializer_list<DnnDescriptor> tensors) {
  assert(operationCount < kMostOperations);
  DnnDescriptor operation = create(kind.operation);
  if (function)
    set(operation, kind.ofFunction, kDnnOfDescriptor, &function);
  const float one = 1, zero = 0;
  if (kind.alpha >= 0) {
    set(operation, kind.alpha, kDnnOfFloat, &one);
    set(operation, kind.alpha + 1, kDnnOfFloat, &zero);
  }
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

bool CudnnGraph::open(DnnHandle with) {
  handle = with;
  graph = create(kDnnOperationGraph);
  set(graph, kDnnGraphHandle, kDnnOfHandle, &handle);
  set(graph, kDnnGraphOperations, kDnnOfDescriptor, operations, operationCount);
  finalize(graph);
  return valid;
}

bool CudnnGraph::find(int mode) {
  DnnDescriptor heuristics = create(kDnnEngineHeuristics);
  set(heuristics, kDnnHeuristicsGraph, kDnnOfDescriptor, &graph);
  set(heuristics, kDnnHeuristicsMode, kDnnOfHeuristicsMode, &mode);
  finalize(heuristics);

  DnnDescriptor configs[kMostFound], knobs[kMostKnobs];
  int64_t most = std::min(kMostFound, kMostEngines - engineCount);
  for (int64_t i = 0; i < most; ++i)
    configs[i] = create(kDnnEngineConfig);
  for (DnnDescriptor &knob : knobs)
    knob = create(kDnnKnobChoice);
  DnnDescriptor engine = create(kDnnEngine);
  int64_t count = get(heuristics, kDnnHeuristicsResults, configs, most);
  int64_t found = engineCount;
  for (int64_t i = 0; i < count; ++i) {
    get(configs[i], kDnnConfigEngine, &engine, 1);
    uint32_t index = uint32_t(getInteger(engine, kDnnEngineIndex));
    uint32_t number = index + 1;
    int64_t set = get(configs[i], kDnnConfigKnobs, knobs, kMostKnobs);
    for (int64_t knob = 0; knob < set; ++knob)
      number = number * 100 + uint32_t(getInteger(knobs[knob], kDnnKnobValue));
    engines[found++] = {number,  index, configs[i],
                        nullptr, false, notesOf(engine)};
  }
  if (valid)
    engineCount = found;
  return engineCount > 0;
}

uint32_t CudnnGraph::notesOf(DnnDescriptor engine) {
  int notes[kDnnNoteCount];
  int64_t count = 0;
  if (dnn.descriptorGet(engine, kDnnEngineNotes, kDnnOfNote, kDnnNoteCount,
                        &count, notes))
    return 0;
  uint32_t bits = 0;
  for (int64_t i = 0; i < std::min<int64_t>(count, kDnnNoteCount); ++i)
    bits |= 1u << notes[i];
  return bits;
}

bool CudnnGraph::close(DnnHandle with, uint32_t refused) {
  if (!open(with))
    return false;
  (void)find(kDnnHeuristicsA);
  // Without preferred engines there may still be slow ones.
  valid = true;
  (void)find(kDnnHeuristicsFallback);
  Engine *end =
      std::remove_if(engines, engines + engineCount, [&](const Engine &engine) {
        return (engine.notes & refused) != 0;
      });
  engineCount = end - engines;
  // The fallback engines include some of the preferred ones.
  for (int64_t i = 0; i < engineCount; ++i) {
    end = std::remove_if(
        engines + i + 1, engines + engineCount,
        [&](const Engine &e) { return e.number == engines[i].number; });
    engineCount = end - engines;
  }
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
