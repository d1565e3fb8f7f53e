//===- ApiFeed.cpp - The C interface of feeds -----------------------------===//

#include "frit/artifact.h"
#include "runtime/exec/Api.h"
#include "runtime/exec/Call.h"
#include "runtime/exec/Feed.h"
#include "runtime/exec/IndexCheck.h"
#include "runtime/exec/Module.h"
#include "runtime/exec/Types.h"
#include "runtime/system/System.h"

using namespace frit;

struct frit_feed {
  /// Checks the inputs of a call and fills `tensors` and `described`.
  Status describe(std::span<const frit_tensor> inputs);

  frit_context *context = nullptr;
  std::unique_ptr<InputFeed> feed;
  std::vector<FeedTensor> tensors; ///< sent, not yet taken
  /// These tensors as arguments of a call, and the shapes they point to.
  std::vector<frit_tensor> described;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::vector<int64_t>> takenShapes; ///< of the last ones taken
  std::vector<void *> places;
};

Status InputFeed::allocate(uint64_t bytes, void *&result) {
  void *made = system::allocateAligned(bytes ? bytes : 1, artifact::kAlignment);
  if (!made)
    return Status(FRIT_OUT_OF_MEMORY,
                  "there is no memory for inputs of " + formatBytes(bytes));
  memory.emplace_back(made);
  result = made;
  return Status();
}

Status InputFeed::take(std::span<const FeedTensor> tensors,
                       std::vector<void *> &places, frit_location &location) {
  for (size_t i = 0; i < tensors.size(); ++i)
    places[i] = const_cast<void *>(tensors[i].data);
  location = FRIT_HOST;
  return Status();
}

Status frit_feed::describe(std::span<const frit_tensor> inputs) {
  const std::vector<std::string> &names = context->module->inputNames;
  tensors.clear();
  described.assign(inputs.begin(), inputs.end());
  shapes.clear();
  const PlanView &plan = context->module->model.plan;
  std::vector<int64_t> sizes(plan.symbols().size(), -1);
  std::vector<size_t> indices;
  for (size_t position = 0; position < inputs.size(); ++position) {
    const frit_tensor &input = inputs[position];
    size_t index = 0;
    FRIT_TRY(findTensor("input", input, position, names, index));
    if (input.dtype == FRIT_STRING)
      return invalidArgument(
          format("input '%s' is of strings, which frit_run takes, not a feed",
                 names[index].c_str()));
    uint64_t count = 0;
    uint64_t most = context->module->model.inputBytes(uint32_t(index));
    size_t size = frit_dtype_size(input.dtype);
    if ((input.rank && !input.dims) || !size ||
        !countElements({input.dims, input.rank}, count) || count > most / size)
      return invalidArgument(format("input '%s' is larger than any variant's",
                                    names[index].c_str()));
    if (input.location != FRIT_HOST || (!input.data && count))
      return invalidArgument(
          format("input '%s' is not in host memory", names[index].c_str()));
    indices.push_back(index);
    std::span<const artifact::Extent> extents =
        plan.extents(plan.inputs(0)[index]);
    for (size_t dim = 0; dim < std::min(extents.size(), size_t(input.rank));
         ++dim)
      if (extents[dim].symbol != artifact::kNone && isSymbol(extents[dim]))
        sizes[extents[dim].symbol] = input.dims[dim];
    tensors.push_back({uint32_t(index), input.data, count * size});
    shapes.emplace_back(input.dims, input.dims + input.rank);
    described[position].name = names[index].c_str();
    described[position].dims = shapes.back().data();
  }
  // The largest variant's ranges hold for all; frit_run finds other shapes.
  for (size_t position = 0; position < inputs.size(); ++position)
    FRIT_TRY(
        checkIndices(plan, names[indices[position]],
                     plan.inputs(plan.variants().size() - 1)[indices[position]],
                     inputs[position], sizes));
  return Status();
}

frit_status frit_feed_create(frit_context *context, frit_feed **feed) {
  if (!context || !feed)
    return nullArgument("frit_feed_create");
  auto made = std::make_unique<frit_feed>();
  made->context = context;
  Status status = context->execution->createFeed(made->feed);
  if (!status.failed())
    *feed = made.release();
  return report(std::move(status));
}

void frit_feed_destroy(frit_feed *feed) { delete feed; }

frit_status frit_feed_allocate(frit_feed *feed, size_t bytes, void **memory) {
  if (!feed || !memory)
    return nullArgument("frit_feed_allocate");
  return report(feed->feed->allocate(bytes, *memory));
}

frit_status frit_feed_send(frit_feed *feed, const frit_tensor *inputs,
                           uint32_t count) {
  if (!feed || (!inputs && count))
    return nullArgument("frit_feed_send");
  if (!feed->tensors.empty())
    return report(invalidArgument(
        "frit_feed_send: what was sent before was not taken yet"));
  Status status = feed->describe({inputs, count});
  if (!status.failed())
    status = feed->feed->send(feed->tensors);
  if (status.failed())
    feed->tensors.clear();
  return report(std::move(status));
}

frit_status frit_feed_take(frit_feed *feed, frit_tensor *inputs) {
  if (!feed || !inputs)
    return nullArgument("frit_feed_take");
  if (feed->tensors.empty())
    return report(invalidArgument("frit_feed_take: nothing was sent"));
  feed->places.resize(feed->tensors.size());
  frit_location location = FRIT_HOST;
  Status status = feed->feed->take(feed->tensors, feed->places, location);
  for (size_t i = 0; i < feed->tensors.size() && !status.failed(); ++i) {
    inputs[i] = feed->described[i];
    inputs[i].data = feed->places[i];
    inputs[i].location = location;
  }
  // Swapping keeps the addresses of the shapes.
  std::swap(feed->shapes, feed->takenShapes);
  feed->tensors.clear();
  return report(std::move(status));
}
