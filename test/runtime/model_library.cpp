//===- model_library.cpp - The test model as a shared library -------------===//

#include "TestModel.h"

static frit::test::Model model = frit::test::makeTestModel();

extern "C" {
/// fritc writes a constant here; this one is filled in when it is loaded.
__attribute__((visibility("default"))) frit_image frit_model_image =
    *model.get();
}
