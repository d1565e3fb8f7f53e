//===- DescribePass.h - Describes attention problems for tests ------------===//

#ifndef FRIT_TOOLS_FRIT_OPT_DESCRIBEPASS_H
#define FRIT_TOOLS_FRIT_OPT_DESCRIBEPASS_H

namespace frit {

/// Registers `test-describe-attention`. It emits a remark at every fusion with
/// an attention: the strides of its operands and result, or why they cannot be
/// expressed.
void registerDescribePass();

} // namespace frit

#endif // FRIT_TOOLS_FRIT_OPT_DESCRIBEPASS_H
