//===- EmulateOptions.h - Command line of emulate_run ---------------------===//
//
//   --function=NAME    default: the first
//   --arch=NAME        the CUDA target; default: the first
//   --unit=N           which of the files emulate.py was given; default: 0
//   --input=NAME=VALUE a file of one tensor (.npy, .safetensors, .pb), its
//                      bytes alone (.bin), or random:SEED:LOW..HIGH as frit-run
//                      has it; the default is random: floats are normal,
//                      integers 0 or 1
//   --compare=FILE     expected outputs (.npz, ...) instead of the cpu target's
//   --output=FILE      an .npz to write the outputs to, or a .bin for their
//                      bytes alone; they are then compared with nothing
//   --rtol=X           of |out - ref| / |ref|; default 1e-4
//   --calls=N          how often to call it before the outputs are compared;
//                      default 1. Each seed starts from the first state
//   --state=FILE       the state before the first call, such as --output wrote:
//                      tensors of a state's name; others are ignored
//   --each=NAME=X,...  numbers that a state tensor gets before the calls, in
//                      turn; it must be one f32
//   --seeds=N          how many thread schedules to try, with --output which
//                      one; default 2
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_EMULATEOPTIONS_H
#define FRIT_TEST_EMULATOR_EMULATEOPTIONS_H

#include <map>
#include <string>
#include <vector>

namespace frit::emulation {

struct Options {
  std::string model, kernels, function, arch, expected, output, state;
  std::map<std::string, std::string> inputs;
  std::string changed;        ///< state of --each
  std::vector<float> numbers; ///< its value before each call
  double tolerance = 1e-4;
  int unit = 0, seeds = 2, calls = 1;
};

/// Prints a message and exits with status 2.
[[noreturn]] void die(const std::string &message);

/// Returns the options of a command line, or exits with a message.
Options parseOptions(int argc, char **argv);

} // namespace frit::emulation

#endif // FRIT_TEST_EMULATOR_EMULATEOPTIONS_H
