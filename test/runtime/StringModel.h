//===- StringModel.h - A model with every kind of string step -------------===//

#ifndef FRIT_TEST_RUNTIME_STRINGMODEL_H
#define FRIT_TEST_RUNTIME_STRINGMODEL_H

#include "PlanWriter.h"

namespace frit::test {

/// Makes a model of the strings x, two of them:
///
///   y = x + "!"        a = whether x matches a*
///   p = x.split("-")   n = x in upper case, without "stop"
///
/// It gives y and the strings of p and n, cut to their true sizes.
Model makeStringModel();

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_STRINGMODEL_H
