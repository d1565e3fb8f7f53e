//===- Page.h - The report as one HTML file -------------------------------===//
//
// Plain C++, without LLVM: frit-run adds a profile to a page of fritc.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_REPORT_PAGE_H
#define FRIT_COMPILER_REPORT_PAGE_H

#include <optional>
#include <string>
#include <string_view>

namespace frit {

/// Returns a page that shows `json`, a valid JSON text, by its own script and
/// style. It loads nothing.
std::string makePage(std::string_view json);

/// Returns the JSON text of a page; nothing if `page` is not one of makePage.
std::optional<std::string> readPage(std::string_view page);

} // namespace frit

#endif // FRIT_COMPILER_REPORT_PAGE_H
