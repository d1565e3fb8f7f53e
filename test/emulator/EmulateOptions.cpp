//===- EmulateOptions.cpp - Command line of emulate_run -------------------===//

#include "test/emulator/EmulateOptions.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace frit::emulation;

void frit::emulation::die(const std::string &message) {
  fprintf(stderr, "emulate_run: %s\n", message.c_str());
  exit(2);
}

Options frit::emulation::parseOptions(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    auto value = [&](const char *flag) -> const char * {
      size_t length = strlen(flag);
      return argument.compare(0, length, flag) ? nullptr : argv[i] + length;
    };
    if (const char *text = value("--arch="))
      options.arch = text;
    else if (const char *text = value("--function="))
      options.function = text;
    else if (const char *text = value("--calls="))
      options.calls = atoi(text);
    else if (const char *text = value("--each=")) {
      const char *at = strchr(text, '=');
      options.changed = std::string(text, at ? at : text);
      for (char *end; at && *at; at = end)
        options.numbers.push_back(strtof(at + 1, &end));
    } else if (const char *text = value("--unit="))
      options.unit = atoi(text);
    else if (const char *text = value("--compare="))
      options.expected = text;
    else if (const char *text = value("--output="))
      options.output = text;
    else if (const char *text = value("--state="))
      options.state = text;
    else if (const char *text = value("--rtol="))
      options.tolerance = atof(text);
    else if (const char *text = value("--seeds="))
      options.seeds = atoi(text);
    else if (const char *text = value("--input=")) {
      const char *equals = strchr(text, '=');
      if (!equals)
        die("--input wants NAME=VALUE");
      options.inputs[std::string(text, equals)] =
          equals + 1 + (equals[1] == '@');
    } else if (argument[0] == '-')
      die("unknown option '" + argument + "'");
    else if (options.model.empty())
      options.model = argument;
    else if (options.kernels.empty())
      options.kernels = argument;
    else
      die("too many files");
  }
  if (options.kernels.empty())
    die("usage: emulate_run model.so kernels.so [options]");
  return options;
}
