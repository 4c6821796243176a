#include "comm/http/admission.h"

#include <strings.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "comm/secrets/crypto/wiped.h"
#include "comm/transport/tcp/socket.h"
#include "tensor/errors.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

void Wipe(std::string& text) {
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
}

// The name or the address in "host", "host:80", "::1" or "[::1]:80".
std::string_view WithoutPort(std::string_view host) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    return host.substr(1, end == host.npos ? end : end - 1);
  }
  const size_t colon = host.find(':');
  return host.find(':', colon + 1) == host.npos ? host.substr(0, colon) : host;
}

// As RFC 9110 (5.1, 5.5) defines names and values. libmicrohttpd takes "Content-Length : 5" for a
// header of another name, and joins lines; other servers read a length.
bool IsUnclear(const std::pair<std::string, std::string>& header) {
  constexpr std::string_view kOfNames =
      "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  return header.first.find_first_not_of(kOfNames) != std::string::npos ||
         header.second.find_first_of("\r\n") != std::string::npos;
}

}  // namespace

std::optional<size_t> DeclaredLength(const HttpRequest& request) {
  const std::string* const length = request.Header("Content-Length");
  if (length == nullptr) return std::nullopt;
  return NumberIn<size_t>(*length).value_or(SIZE_MAX);
}

absl::StatusOr<Admission> Admission::Create(HttpServerOptions& options) {
  Admission admission(options);
  if (options.token.empty()) return admission;
  DTNN_ASSIGN_OR_RETURN(admission.token_, Sha256({AsBytes(options.token)}));
  Wipe(options.token);
  return admission;
}

std::optional<HttpAnswer> Admission::Malformed(const HttpRequest& request,
                                               std::string_view version) {
  if (version == "HTTP/1.1" && request.Count("Host") != 1) {
    return HttpError(400, StrCat("the request has ", request.Count("Host"),
                                 " headers Host; HTTP/1.1 expects one"));
  }
  const auto unclear = std::ranges::find_if(request.headers, IsUnclear);
  if (unclear != request.headers.end()) {
    return HttpError(400, StrCat("the header ", Quoted(unclear->first, 100),
                                 " has a blank, an end of a line or another character that is not "
                                 "allowed there"));
  }
  if (request.Count("Content-Length") + request.Count("Transfer-Encoding") > 1) {
    return HttpError(400, "several headers say the length of the body; expected one of them");
  }
  // libmicrohttpd would wait for the end of the connection.
  const std::string* const coding = request.Header("Transfer-Encoding");
  if (coding != nullptr && strcasecmp(coding->c_str(), "chunked") != 0) {
    return HttpError(400,
                     "the Transfer-Encoding is unknown; expected chunked, or a Content-Length");
  }
  return std::nullopt;
}

std::optional<HttpAnswer> Admission::WrongHost(const HttpRequest& request) const {
  const std::string* const header = request.Header("Host");
  if (!hosts_ || header == nullptr) return std::nullopt;  // HTTP/1.0, which no browser sends
  const std::string_view host = WithoutPort(*header);
  if (IsLoopback(host)) return std::nullopt;
  const bool allowed = std::ranges::any_of(*hosts_, [&](const std::string& name) {
    return name.size() == host.size() && strncasecmp(name.data(), host.data(), host.size()) == 0;
  });
  if (allowed) return std::nullopt;
  return HttpError(421, StrCat("the header Host names ", Quoted(*header, 100),
                               ", which is not a name that this server answers to"));
}

bool Admission::TakeToken(HttpRequest& request) const {
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
  return right;
}

std::optional<HttpAnswer> Admission::Refusal(HttpRequest& request, std::string_view version) const {
  const bool right = TakeToken(request);
  // First, since other refusals keep the connection: where the body has no known end, its bytes
  // would become the next request.
  if (std::optional<HttpAnswer> refusal = Malformed(request, version)) return refusal;
  if (std::optional<HttpAnswer> refusal = WrongHost(request)) return refusal;
  if (!right) {
    HttpAnswer refusal = HttpError(
        401, "the token is missing or wrong; expected the header Authorization: Bearer TOKEN");
    refusal.headers = {{"WWW-Authenticate", "Bearer"}};
    return refusal;
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
