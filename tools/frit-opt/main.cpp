//===- main.cpp - frit-opt: runs passes on .mlir --------------------------===//

#include "tools/frit-opt/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  frit::registerEverything(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "frit's passes on .mlir\n", registry));
}
