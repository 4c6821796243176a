#include "comm/http/http_message.h"

#include <strings.h>

#include <algorithm>

#include "tensor/text/json_text.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

bool SameHeader(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

const std::string* HttpRequest::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (SameHeader(key, name)) return &value;
  }
  return nullptr;
}

int HttpRequest::Count(std::string_view name) const {
  return int(std::ranges::count_if(
      headers, [&](const auto& header) { return SameHeader(header.first, name); }));
}

const std::string* HttpRequest::Query(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return &value;
  }
  return nullptr;
}

HttpAnswer HttpError(int code, std::string_view message) {
  return {.code = code, .body = StrCat("{\"error\": ", JsonText(message), "}\n")};
}

HttpAnswer HttpBusy(std::string_view message) {
  HttpAnswer answer = HttpError(503, message);
  answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

}  // namespace dtnn
