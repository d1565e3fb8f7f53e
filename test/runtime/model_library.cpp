//===- model_library.cpp - The test model as a shared library -------------===//

#include "TestModel.h"

static frit::test::Model model = frit::test::makeTestModel();

extern "C" {
/// fritc writes a constant here; the test fills it in at load time.
__attribute__((visibility("default"))) frit_image frit_model_image =
    *model.get();
}
