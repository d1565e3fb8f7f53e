//===- Parser.h - Parse templates -----------------------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_JINJA_PARSER_H
#define FRIT_TOOLS_TOKENIZER_JINJA_PARSER_H

#include "tools/support/Fault.h"
#include "tools/tokenizer/jinja/Syntax.h"

namespace frit::jinja {

/// Parses a template, which is UTF-8. Fails with the line of what is wrong or
/// not supported.
tools::Fault parse(std::string_view source, Block &block);

} // namespace frit::jinja

#endif // FRIT_TOOLS_TOKENIZER_JINJA_PARSER_H
