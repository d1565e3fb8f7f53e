//===- Page.cpp - The report as one HTML file -----------------------------===//

#include "compiler/report/Page.h"

using namespace frit;

namespace frit {
extern const char kPage[], kPageStyle[], kPageScript[];
} // namespace frit

static constexpr std::string_view kBegin =
    "<script type=\"application/json\" id=\"data\">";
static constexpr std::string_view kEnd = "</script>";

std::string frit::makePage(std::string_view json) {
  std::string data(kBegin);
  // A name of the model must not end the block: JSON has "<" in strings only.
  for (char c : json)
    if (c == '<')
      data += "\\u003c";
    else
      data += c;
  data += kEnd;

  std::string page;
  std::string_view text = kPage;
  auto fill = [&](std::string_view mark, std::string_view with) {
    size_t at = text.find(mark);
    page += text.substr(0, at);
    page += with;
    text.remove_prefix(at + mark.size());
  };
  fill("/*style*/", kPageStyle);
  fill("<!--data-->", data);
  fill("/*script*/", kPageScript);
  return page + std::string(text);
}

std::optional<std::string> frit::readPage(std::string_view page) {
  size_t begin = page.find(kBegin);
  if (begin == page.npos)
    return std::nullopt;
  begin += kBegin.size();
  size_t end = page.find(kEnd, begin);
  if (end == page.npos)
    return std::nullopt;
  return std::string(page.substr(begin, end - begin));
}
