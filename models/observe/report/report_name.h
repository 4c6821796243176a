// Which names a page of a run may have.

#ifndef DTNN_MODELS_OBSERVE_REPORT_REPORT_NAME_H_
#define DTNN_MODELS_OBSERVE_REPORT_REPORT_NAME_H_

#include <algorithm>
#include <string>
#include <string_view>

namespace dtnn {

// Whether it ends in .html or .htm, in any case.
inline bool IsReportName(std::string_view path) {
  std::string ending(path.substr(std::min(path.rfind('.'), path.size())));
  for (char& c : ending) {
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  }
  return ending == ".html" || ending == ".htm";
}

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_REPORT_NAME_H_
