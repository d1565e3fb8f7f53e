//===- state_library.cpp - The state model as a shared library ------------===//

#include "StateModel.h"

static frit::test::Model model = frit::test::makeStateModel();

extern "C" {
/// fritc writes a constant here; the test fills it in at load time.
__attribute__((visibility("default"))) frit_image frit_model_image =
    *model.get();
}
