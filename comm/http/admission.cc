#include "comm/http/admission.h"

#include <strings.h>

#include <algorithm>
#include <string_view>

#include "comm/secrets/crypto/wiped.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

void Wipe(std::string& text) {
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

// The value of Content-Length; libmicrohttpd has read it as a number.
std::optional<size_t> DeclaredLength(const HttpRequest& request) {
  const std::string* const length = request.Header("Content-Length");
  if (length == nullptr) return std::nullopt;
  return length->size() > 18 ? SIZE_MAX : size_t(std::stoull(*length));
}

}  // namespace

absl::StatusOr<Admission> Admission::Create(HttpServerOptions& options) {
  Admission admission(options.open_paths, options.body_bytes);
  if (options.token.empty()) return admission;
  DTNN_ASSIGN_OR_RETURN(admission.token_, Sha256({AsBytes(options.token)}));
  Wipe(options.token);
  return admission;
}

std::optional<HttpAnswer> Admission::WrongToken(HttpRequest& request) const {
  constexpr std::string_view kScheme = "Bearer ";
  bool right = !token_ || std::ranges::count(open_paths_, request.path) > 0;
  const std::string* const given = request.Header("Authorization");
  if (!right && given != nullptr &&
      strncasecmp(given->c_str(), kScheme.data(), kScheme.size()) == 0) {
    const auto hash = Sha256({AsBytes(std::string_view(*given).substr(kScheme.size()))});
    right = hash.ok() && CRYPTO_memcmp(hash->data(), token_->data(), hash->size()) == 0;
  }
  std::erase_if(request.headers, [](auto& header) {
    if (strcasecmp(header.first.c_str(), "Authorization") != 0) return false;
    Wipe(header.second);
    return true;
  });
  if (right) return std::nullopt;
  HttpAnswer refusal = HttpError(
      401, "the token is missing or wrong; expected the header Authorization: Bearer TOKEN");
  refusal.headers = {{"WWW-Authenticate", "Bearer"}};
  return refusal;
}

std::optional<HttpAnswer> Admission::Refusal(HttpRequest& request, std::string_view version) const {
  if (version == "HTTP/1.1" && request.Count("Host") != 1) {
    return HttpError(400, StrCat("the request has ", request.Count("Host"),
                                 " headers Host; HTTP/1.1 expects one"));
  }
  if (std::optional<HttpAnswer> refusal = WrongToken(request)) return refusal;
  if (request.Count("Content-Length") + request.Count("Transfer-Encoding") > 1) {
    return HttpError(400, "several headers say the length of the body; expected one of them");
  }
  // libmicrohttpd would wait for the end of the connection.
  const std::string* const coding = request.Header("Transfer-Encoding");
  if (coding != nullptr && strcasecmp(coding->c_str(), "chunked") != 0) {
    return HttpError(400,
                     "the Transfer-Encoding is unknown; expected chunked, or a Content-Length");
  }
  if (DeclaredLength(request).value_or(0) > body_bytes_) return TooLarge();
  return std::nullopt;
}

bool Admission::AtOnce(const HttpRequest& request, const HttpAnswer& refusal) const {
  return refusal.code == 400 || request.Header("Expect") != nullptr ||
         DeclaredLength(request).value_or(0) > MostDiscarded();
}

HttpAnswer Admission::TooLarge() const {
  return HttpError(413, StrCat("the body is larger than the limit of ", body_bytes_, " bytes"));
}

}  // namespace dtnn
