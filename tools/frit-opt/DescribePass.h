//===- DescribePass.h - What a kernel would be told of an attention -------===//

#ifndef FRIT_TOOLS_FRIT_OPT_DESCRIBEPASS_H
#define FRIT_TOOLS_FRIT_OPT_DESCRIBEPASS_H

namespace frit {

/// Registers `test-describe-attention`, which remarks at every fusion that
/// holds one where its operands and its result lie, or why there is no telling.
void registerDescribePass();

} // namespace frit

#endif // FRIT_TOOLS_FRIT_OPT_DESCRIBEPASS_H
