//===- Report.h - Print the findings of frit-doctor -----------------------===//

#ifndef FRIT_TOOLS_FRIT_DOCTOR_REPORT_H
#define FRIT_TOOLS_FRIT_DOCTOR_REPORT_H

#include "tools/frit-doctor/Machine.h"

namespace frit::doctor {

/// Prints the report. `unmet` lists the parts of --need that do not work.
void printText(const Machine &machine, const std::vector<std::string> &unmet);
void printJson(const Machine &machine, const std::vector<std::string> &unmet);

} // namespace frit::doctor

#endif // FRIT_TOOLS_FRIT_DOCTOR_REPORT_H
