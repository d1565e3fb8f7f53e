//===- OptionTable.cpp - Tables made from Options.td ----------------------===//

#include "compiler/driver/options/OptionTable.h"

#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Status.h"

using namespace frit;
using namespace llvm::opt;

namespace {

#define OPTTABLE_STR_TABLE_CODE
#include "compiler/driver/Options.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "compiler/driver/Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

constexpr OptTable::Info infos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "compiler/driver/Options.inc"
#undef OPTION
};

/// Sections in the order of the help.
constexpr unsigned sections[] = {
    OPT_output_Group, OPT_target_Group,  OPT_model_Group, OPT_code_Group,
    OPT_tuning_Group, OPT_warning_Group, OPT_other_Group};

} // namespace

FritcOptions::FritcOptions()
    : OptionParser("fritc", OptionStrTable, OptionPrefixesTable, infos,
                   OPT_UNKNOWN) {}

HelpTable frit::fritcHelp(const FritcOptions &parser) {
  HelpTable help;
  help.tool = "fritc";
  help.version = FRIT_VERSION;
  help.purpose = "compiles a model to a shared library or an object file that "
                 "needs no framework";
  help.synopsis = "model.onnx [-o file] [options]";
  help.inputs = {".onnx", ".json"};
  parser.addOptions(help, sections);
  for (HelpOption &row : help.options)
    if (row.metavar == "warning")
      row.values = warningNames();
  help.examples = {
      {"fritc model.onnx -o model.so", "a shared library, for frit-run"},
      {"fritc -c model.onnx -o model.o",
       "an object file to link into a program, and model.h"},
      {"fritc -S -march=sm_90a model.onnx", "its CUDA C++, in model.cu"},
      {"fritc model.onnx -fprecision=fp16 -fshape=batch=1..64 -o model.so",
       "for any batch up to 64, computed in 16 bits"}};
  help.statuses = {{kDone, "done"},
                   {kBadInput, "the input is at fault"},
                   {kBadUsage, "wrong usage"},
                   {kBug, "a bug in frit"},
                   {kMachine, "the machine lacks memory, room on a disk, the "
                              "right to write an output, "
                              "NVRTC or a linker"}};
  return help;
}
