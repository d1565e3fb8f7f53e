//===- PlanWriter.h - Write a plan by hand --------------------------------===//
//
// Builds an image for tests of the runtime: fill the tables, then call
// finish().
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_RUNTIME_PLANWRITER_H
#define FRIT_TEST_RUNTIME_PLANWRITER_H

#include "codegen/artifact/Entries.h"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace frit::test {

using namespace frit::artifact;

inline uint64_t elementBytes(DType type) {
  if (type == DType::string)
    return 8;
  static const uint8_t bytes[] = {0, 4, 8, 2, 2, 1, 2, 4,
                                  8, 1, 2, 4, 8, 1, 1, 1};
  return bytes[uint32_t(type)];
}

/// Returns the smallest ELF file that the runtime accepts as a cubin.
inline std::string emptyElf() {
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  return std::string(reinterpret_cast<const char *>(&header), sizeof header);
}

/// A plan's bytes and the image that points to them.
struct Model {
  std::vector<uint8_t> plan;
  std::vector<uint8_t> weights;
  std::vector<frit_host_kernel> kernels;
  frit_image image = {};

  /// Updates the image's pointers to the vectors.
  const frit_image *get() {
    image = {
        FRIT_IMAGE_ABI, uint32_t(kernels.size()), kernels.data(), plan.data(),
        plan.size(),    weights.data(),           weights.size()};
    return &image;
  }
};

class PlanWriter : public Entries {
public:
  Text text(std::string_view value) {
    Text result{uint32_t(strings.size()), uint32_t(value.size())};
    strings += value;
    return result;
  }

  Range shape(std::initializer_list<int64_t> values) {
    Range range{uint32_t(dims.size()), uint32_t(values.size())};
    dims.insert(dims.end(), values);
    return range;
  }

  Tensor tensor(std::string_view name, DType type,
                std::initializer_list<int64_t> sizes) {
    Tensor result;
    result.name = text(name);
    result.type = type;
    result.dims = shape(sizes);
    result.bytes = elementBytes(type);
    for (int64_t size : sizes)
      result.bytes *= uint64_t(size);
    return result;
  }

  /// Each adds a tensor and returns its buffer for a step's arguments.
  Buffer input(std::string_view name, DType type,
               std::initializer_list<int64_t> sizes) {
    inputs.push_back(tensor(name, type, sizes));
    return {Space::input, uint32_t(inputs.size() - 1) - inputsDone, 0,
            inputs.back().bytes};
  }

  Buffer output(std::string_view name, DType type,
                std::initializer_list<int64_t> sizes) {
    outputs.push_back(tensor(name, type, sizes));
    return {Space::output, uint32_t(outputs.size() - 1) - outputsDone, 0,
            outputs.back().bytes, /*written=*/1};
  }

  /// Adds a tensor of the state memory, initialized to `constant`, or to zeros
  /// without one.
  Buffer state(std::string_view name, DType type,
               std::initializer_list<int64_t> sizes,
               uint32_t constant = kNone) {
    Tensor described = tensor(name, type, sizes);
    State entry;
    entry.name = described.name;
    entry.type = type;
    entry.dims = described.dims;
    entry.constant = constant;
    entry.offset = stateBytes;
    entry.bytes = described.bytes;
    states.push_back(entry);
    stateBytes += (entry.bytes + kAlignment - 1) / kAlignment * kAlignment;
    return {Space::state, 0, entry.offset, entry.bytes};
  }

  /// Adds a part of the state memory that is derived from `source`.
  Buffer derivedState(Buffer source, uint64_t bytes) {
    derived.push_back({stateBytes, bytes, source.offset, source.bytes});
    stateBytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return {Space::state, 0, derived.back().offset, bytes};
  }

  template <typename T>
  Buffer constant(std::string_view name, DType type,
                  std::initializer_list<int64_t> sizes,
                  const std::vector<T> &values, bool resident) {
    Tensor described = tensor(name, type, sizes);
    weights.resize((weights.size() + kAlignment - 1) / kAlignment * kAlignment);
    Constant entry;
    entry.name = described.name;
    entry.type = type;
    entry.dims = described.dims;
    entry.resident = resident;
    entry.offset = weights.size();
    entry.bytes = described.bytes;
    weights.resize(weights.size() + entry.bytes);
    memcpy(weights.data() + entry.offset, values.data(), entry.bytes);
    constants.push_back(entry);
    return {Space::constant, uint32_t(constants.size() - 1), 0, entry.bytes};
  }

  static Buffer arena(uint64_t offset, uint64_t bytes, bool written) {
    return {Space::arena, 0, offset, bytes, written};
  }
  static Buffer prepared(uint64_t offset, uint64_t bytes, bool written) {
    return {Space::prepared, 0, offset, bytes, written};
  }
  static Buffer written(Buffer buffer) {
    buffer.written = 1;
    return buffer;
  }

  uint32_t kernel(std::string_view name, uint32_t host = 0) {
    Kernel entry;
    entry.name = text(name);
    entry.host = host;
    kernels.push_back(entry);
    return uint32_t(kernels.size() - 1);
  }

  /// Adds a tensor map to the last kernel.
  void tensorMap(const TensorMap &map) {
    Range &range = kernels.back().tensorMaps;
    if (!range.count)
      range.first = uint32_t(tensorMaps.size());
    ++range.count;
    tensorMaps.push_back(map);
  }

  /// Adds a step that follows the step before it, or the guard that it begins,
  /// unless `follow` says otherwise.
  Step &step(StepKind kind, std::string_view node,
             const std::vector<Buffer> &arguments) {
    Step entry;
    entry.follows.first = kNone;
    entry.kind = kind;
    entry.node = text(node);
    entry.arguments = {uint32_t(buffers.size()), uint32_t(arguments.size())};
    buffers.insert(buffers.end(), arguments.begin(), arguments.end());
    steps.push_back(entry);
    return steps.back();
  }

  /// Makes a step follow only `others` of its list.
  void follow(Step &step, std::initializer_list<uint32_t> others) {
    step.follows = {uint32_t(follows.size()), uint32_t(others.size())};
    follows.insert(follows.end(), others);
  }

  Step &gemm(const Gemm &problem, std::string_view node,
             const std::vector<Buffer> &arguments) {
    return problemStep(StepKind::gemm, gemms, problem, node, arguments);
  }

  /// Guards the next `count` steps.
  Step &guard(Buffer condition, bool when, uint32_t count,
              std::string_view node) {
    return problemStep(StepKind::guard, guards, {count, when}, node,
                       {condition});
  }

  Step &conv(const Conv &problem, std::string_view node,
             const std::vector<Buffer> &arguments) {
    return problemStep(StepKind::conv, convs, problem, node, arguments);
  }

  Step &attention(const Attention &problem, std::string_view node,
                  const std::vector<Buffer> &arguments) {
    return problemStep(StepKind::attention, attentions, problem, node,
                       arguments);
  }

  /// Ends a function's program on a target, with all steps and kernels since
  /// the last one; the first `prepareSteps` steps are the target's prepare
  /// list, the next `deriveSteps` its derive list. A plan with several
  /// functions has one target, to which later functions add.
  Target &target(std::string_view arch, uint32_t prepareSteps = 0,
                 uint32_t deriveSteps = 0) {
    if (functions.empty()) {
      Target entry;
      entry.arch = text(arch);
      entry.kernels.first = kernelsDone;
      entry.programs.first = uint32_t(programs.size());
      targets.push_back(entry);
    }
    Target &entry = targets.back();
    if (prepareSteps)
      entry.prepare = {stepsDone, prepareSteps};
    if (deriveSteps)
      entry.derive = {stepsDone + prepareSteps, deriveSteps};
    Program program;
    program.steps.first = stepsDone + prepareSteps + deriveSteps;
    program.steps.count = uint32_t(steps.size()) - program.steps.first;
    programs.push_back(program);
    kernelsDone = uint32_t(kernels.size());
    stepsDone = uint32_t(steps.size());
    entry.kernels.count = kernelsDone - entry.kernels.first;
    entry.programs.count = uint32_t(programs.size()) - entry.programs.first;
    return entry;
  }

  /// Ends a function with all symbols and variants since the last one, and with
  /// the inputs and outputs as one variant if there are no variants.
  void function(std::string_view name,
                frit_function_role role = FRIT_FUNCTION_INFERENCE) {
    if (variants.size() == variantsDone)
      variants.push_back(
          {{},
           {inputsDone, uint32_t(inputs.size()) - inputsDone},
           {outputsDone, uint32_t(outputs.size()) - outputsDone}});
    Function entry;
    entry.name = text(name);
    entry.role = role;
    auto since = [](uint32_t &done, const auto &table) {
      Range range = {done, uint32_t(table.size()) - done};
      done = uint32_t(table.size());
      return range;
    };
    entry.symbols = since(symbolsDone, symbols);
    entry.variants = since(variantsDone, variants);
    (void)since(inputsDone, inputs);
    (void)since(outputsDone, outputs);
    entry.counts = counts;
    entry.sizes = sizes;
    counts = sizes = 0;
    functions.push_back(entry);
  }

  /// Adds code to the last target, for its kernels that have none yet.
  void module(std::string_view cubin, std::string_view ptx = "") {
    Target &entry = targets.back();
    if (!entry.modules.count++)
      entry.modules.first = uint32_t(modules.size());
    for (uint32_t i = 0; i < entry.kernels.count; ++i)
      if (uint32_t &of = kernels[entry.kernels.first + i].module; of == kNone)
        of = uint32_t(modules.size());
    modules.push_back({blob(cubin), blob(ptx)});
  }

  /// Returns the program of the last target.
  Program &program() { return programs.back(); }

  Blob blob(std::string_view bytes) {
    blobs.emplace_back(bytes);
    return {blobs.size() - 1, bytes.size()};
  }

  /// Lays out the plan, for a model with its weights and no host kernels.
  /// Before, the offsets of blobs are their numbers. Adds a function "main" if
  /// none was ended.
  Model finish(std::string_view name) {
    if (functions.empty())
      function("main");
    orderSteps();
    Header header;
    memcpy(header.magic, kMagic, sizeof kMagic);
    header.headerBytes = sizeof(Header);
    header.weightBytes = weights.size();
    header.model = text(name);
    header.producer = text("test");
    Model model;
    model.weights = weights;
    std::vector<uint8_t> &bytes = model.plan;
    bytes.resize(sizeof(Header));
    auto append = [&](const void *data, size_t size) {
      bytes.resize((bytes.size() + 15) / 16 * 16);
      uint64_t offset = bytes.size();
      bytes.resize(bytes.size() + size);
      if (size)
        memcpy(bytes.data() + offset, data, size);
      return offset;
    };
    std::vector<uint64_t> blobOffsets;
    for (const std::string &blob : blobs)
      blobOffsets.push_back(append(blob.data(), blob.size()));
    for (DeviceModule &entry : modules)
      for (Blob *blob : {&entry.cubin, &entry.ptx})
        if (blob->size)
          blob->offset = blobOffsets[blob->offset];
    for (StringStep &entry : stringSteps)
      if (entry.automaton.size)
        entry.automaton.offset = blobOffsets[entry.automaton.offset];
    auto table = [&](const auto &entries) {
      return Table{append(entries.data(), entries.size() * sizeof(entries[0])),
                   entries.size()};
    };
    header.stateBytes = stateBytes;
    place(header, table);
    header.strings = {append(strings.data(), strings.size()), strings.size()};
    header.bytes = bytes.size();
    memcpy(bytes.data(), &header, sizeof header);
    return model;
  }

  std::string strings;
  uint64_t stateBytes = 0;
  uint32_t counts = 0; ///< of the outputs, the last ones
  uint32_t sizes = 0;  ///< of the inputs, the last ones
  std::vector<uint8_t> weights;

private:
  /// Makes each step without edges of its own follow the step before it in its
  /// block.
  void orderSteps() {
    std::vector<Range> lists;
    for (const Target &entry : targets)
      lists.insert(lists.end(), {entry.prepare, entry.derive});
    for (const Program &program : programs)
      lists.push_back(program.steps);
    std::vector<uint32_t> ordered;
    const std::vector<Step> given = steps; // lists may share steps
    for (Range list : lists) {
      if (uint64_t(list.first) + list.count > steps.size())
        continue; // damaged on purpose
      struct Block {
        uint32_t last, end; ///< kNone: no step yet
      };
      std::vector<Block> blocks = {{kNone, list.count}};
      for (uint32_t place = 0; place < list.count; ++place) {
        Step &entry = steps[list.first + place];
        Range own = given[list.first + place].follows;
        entry.follows.first = uint32_t(ordered.size());
        if (own.first != kNone)
          ordered.insert(ordered.end(), follows.begin() + own.first,
                         follows.begin() + own.first + own.count);
        else if (blocks.back().last != kNone)
          ordered.push_back(blocks.back().last);
        entry.follows.count = uint32_t(ordered.size()) - entry.follows.first;
        blocks.back().last = place;
        if (entry.kind == StepKind::guard)
          blocks.push_back({place, place + 1 + guards[entry.problem].steps});
        while (blocks.size() > 1 && blocks.back().end == place + 1)
          blocks.pop_back();
      }
    }
    follows = std::move(ordered);
  }

  /// Adds a step that an entry of `problems` describes.
  template <typename Problem>
  Step &problemStep(StepKind kind, std::vector<Problem> &problems,
                    const std::type_identity_t<Problem> &problem,
                    std::string_view node,
                    const std::vector<Buffer> &arguments) {
    problems.push_back(problem);
    Step &entry = step(kind, node, arguments);
    entry.problem = uint32_t(problems.size() - 1);
    return entry;
  }

  std::vector<std::string> blobs;
  uint32_t kernelsDone = 0, stepsDone = 0;
  uint32_t symbolsDone = 0, variantsDone = 0;
  uint32_t inputsDone = 0, outputsDone = 0;
};

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_PLANWRITER_H
