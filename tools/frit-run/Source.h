//===- Source.h - What a language model with an encoder reads -------------===//

#ifndef FRIT_TOOLS_FRIT_RUN_SOURCE_H
#define FRIT_TOOLS_FRIT_RUN_SOURCE_H

#include "frit/generate.h"
#include "tools/support/Fault.h"
#include "tools/tokenizer/Tokenizer.h"

#include <string>

namespace frit::run {

/// Makes a session of one sequence read a source: "@spectrum.npy", the log-mel
/// spectrum of a sound, f32 of (1 ×) bins × frames; or a text, if there is a
/// tokenizer, or tokens as "5,7,9". `tokenizer` may be null.
tools::Fault giveSource(const std::string &source,
                        const tokenizer::Tokenizer *tokenizer,
                        frit_session *session);

} // namespace frit::run

#endif // FRIT_TOOLS_FRIT_RUN_SOURCE_H
