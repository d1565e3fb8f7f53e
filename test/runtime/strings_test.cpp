//===- strings_test.cpp - Strings of calls by the C interface -------------===//

#include "Opened.h"
#include "StringModel.h"

#include <array>

using namespace frit::test;

static frit_string stringOf(const char *text) { return {text, strlen(text)}; }

static std::string textOf(const frit_string &string) {
  return std::string(string.data, string.size);
}

namespace {
/// The memory of a call's tensors.
struct Memory {
  std::array<frit_string, 2> x, y = {}, n = {};
  std::array<frit_string, 6> p = {};
  std::array<uint8_t, 2> a = {};
  std::array<int64_t, 2> c = {};
  frit_tensor input, outputs[5];

  Memory(frit_module *module, const char *first, const char *second)
      : x{stringOf(first), stringOf(second)} {
    CHECK(!frit_module_input_tensor(module, 0, x.data(), &input));
    void *data[] = {y.data(), a.data(), p.data(), c.data(), n.data()};
    for (uint32_t i = 0; i < 5; ++i)
      CHECK(!frit_module_output_tensor(module, i, data[i], &outputs[i]));
  }
  frit_status run(frit_context *context) {
    return frit_run(context, &input, 1, outputs, 5);
  }
};
} // namespace

static void testDescription(frit_module *module) {
  CHECK(frit_module_input_count(module) == 1);
  frit_tensor_info info;
  CHECK(!frit_module_input(module, 0, &info));
  CHECK(info.dtype == FRIT_STRING && info.bytes == 2 * sizeof(frit_string));
  CHECK(!strcmp(frit_dtype_name(FRIT_STRING), "string"));
  CHECK(frit_dtype_size(FRIT_STRING) == sizeof(frit_string));
}

static void testRun(frit_module *module, frit_context *context) {
  Memory memory(module, "aa", "Stop");
  CHECK(!memory.run(context));
  CHECK(textOf(memory.y[0]) == "aa!" && textOf(memory.y[1]) == "Stop!");
  CHECK(memory.a[0] == 1 && memory.a[1] == 0);
  int64_t dims[2] = {};
  CHECK(!frit_context_output_dims(context, 2, dims) && dims[1] == 1);
  CHECK(textOf(memory.p[0]) == "aa" && textOf(memory.p[1]) == "Stop");
  CHECK(!frit_context_output_dims(context, 4, dims) && dims[0] == 1);
  CHECK(textOf(memory.n[0]) == "AA");

  Memory others(module, "b-", "");
  CHECK(!others.run(context));
  CHECK(!frit_context_output_dims(context, 2, dims) && dims[1] == 2);
  CHECK(textOf(others.p[0]) == "b" && textOf(others.p[1]).empty() &&
        textOf(others.p[2]).empty());
  CHECK(others.c[0] == 2 && others.c[1] == 1);
  // Without a string that is kept there is an empty one.
  Memory none(module, "stop", "STOP");
  CHECK(!none.run(context));
  CHECK(!frit_context_output_dims(context, 4, dims) && dims[0] == 1);
  CHECK(textOf(none.n[0]).empty());
}

static void testMisuse(frit_module *module, frit_context *context) {
  Memory memory(module, "a-b-c-d", "");
  CHECK(memory.run(context) == FRIT_INVALID_ARGUMENT);
  CHECK(lastErrorHas("a string step: a string has 4 parts, and the model holds "
                     "3: compile it with -fbound=NODE:4 for this node"));
  memory.x[0] = {"\xff", 1};
  CHECK(memory.run(context) == FRIT_INVALID_ARGUMENT);
  CHECK(lastErrorHas("string 0 of input 'x' is not UTF-8"));
  memory.x[0] = {nullptr, 1};
  CHECK(memory.run(context) == FRIT_INVALID_ARGUMENT);
  CHECK(lastErrorHas("string 0 of input 'x' has no data"));
  memory.x[0] = {nullptr, 0};
  CHECK(!memory.run(context));
  memory.x[1] = {"", size_t(1) << 40};
  CHECK(memory.run(context) == FRIT_INVALID_ARGUMENT);
  CHECK(lastErrorHas("string 1 of input 'x' is longer than 1 MiB"));
  memory.x[1] = {};
  memory.input.location = FRIT_DEVICE;
  CHECK(memory.run(context) == FRIT_INVALID_ARGUMENT);
  CHECK(lastErrorHas("input 'x' is of strings, which lie in host memory; "
                     "frit_run takes them"));
  memory.input.location = FRIT_HOST;
  memory.input.dtype = FRIT_I64;
  CHECK(memory.run(context) == FRIT_INVALID_ARGUMENT);
  CHECK(lastErrorHas("input 'x' must be 2xstring and is 2xi64"));
  CHECK(!frit_context_input_buffer(context, 0));
  CHECK(!frit_context_output_buffer(context, 0));
  memory.input.dtype = FRIT_STRING;
  frit_feed *feed = nullptr;
  CHECK(!frit_feed_create(context, &feed));
  CHECK(frit_feed_send(feed, &memory.input, 1) == FRIT_INVALID_ARGUMENT);
  CHECK(lastErrorHas("is of strings, which frit_run takes, not a feed"));
  frit_feed_destroy(feed);
}

int main() {
  frit::test::Model model = makeStringModel();
  frit_module_options options = optionsFor("cpu");
  frit_module *module = nullptr;
  frit_context *context = nullptr;
  CHECK(!frit_module_open(model.get(), &options, &module));
  if (failures)
    return finish("strings_test");
  CHECK(!frit_context_create(module, &context));
  testDescription(module);
  testRun(module, context);
  testMisuse(module, context);
  frit_context_destroy(context);
  frit_module_close(module);
  return finish("strings_test");
}
