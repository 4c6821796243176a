#include "comm/http/admission.h"

#include <algorithm>
#include <string_view>

#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<Admission> Admission::Create(HttpServerOptions& options) {
  Admission admission(options.open_paths, options.body_bytes);
  if (options.token.empty()) return admission;
  DTNN_ASSIGN_OR_RETURN(admission.token_, Sha256({AsBytes(options.token)}));
  OPENSSL_cleanse(options.token.data(), options.token.size());
  return admission;
}

std::optional<HttpAnswer> Admission::WrongToken(const HttpRequest& request) const {
  if (!token_ || std::ranges::count(open_paths_, request.path) > 0) return std::nullopt;
  constexpr std::string_view kScheme = "Bearer ";
  const std::string* const given = request.Header("Authorization");
  if (given != nullptr && given->starts_with(kScheme)) {
    const auto hash = Sha256({AsBytes(std::string_view(*given).substr(kScheme.size()))});
    if (hash.ok() && CRYPTO_memcmp(hash->data(), token_->data(), hash->size()) == 0) {
      return std::nullopt;
    }
  }
  HttpAnswer refusal = HttpError(
      401, "the token is missing or wrong; expected the header Authorization: Bearer TOKEN");
  refusal.headers = {{"WWW-Authenticate", "Bearer"}};
  return refusal;
}

std::optional<HttpAnswer> Admission::Refusal(const HttpRequest& request) const {
  if (std::optional<HttpAnswer> refusal = WrongToken(request)) return refusal;
  if (request.Count("Content-Length") + request.Count("Transfer-Encoding") > 1) {
    return HttpError(400, "several headers say the length of the body; expected one of them");
  }
  const std::string* const length = request.Header("Content-Length");
  // libmicrohttpd has read it as a number.
  if (length != nullptr && (length->size() > 18 || std::stoull(*length) > body_bytes_)) {
    return TooLarge();
  }
  return std::nullopt;
}

HttpAnswer Admission::TooLarge() const {
  return HttpError(413, StrCat("the body is larger than the limit of ", body_bytes_, " bytes"));
}

}  // namespace dtnn
