// Which requests are refused by their headers, before their bodies are kept.

#ifndef DTNN_COMM_HTTP_ADMISSION_H_
#define DTNN_COMM_HTTP_ADMISSION_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/http/http_message.h"
#include "comm/http/http_server.h"
#include "comm/secrets/crypto/hash.h"

namespace dtnn {

// The value of Content-Length. What is not a number, which libmicrohttpd lets pass beside a
// Transfer-Encoding, counts as the largest.
std::optional<size_t> DeclaredLength(const HttpRequest& request);

class Admission {
 public:
  // Keeps a hash of the token, not the token, and wipes the options' own.
  static absl::StatusOr<Admission> Create(HttpServerOptions& options);

  // Takes the token out of the request.
  std::optional<HttpAnswer> Refusal(HttpRequest& request, std::string_view version) const;
  // Whether a refusal is sent before the body. A caller that does not wait for it (Expect:
  // 100-continue) reads no answer until its body is sent, so the body is discarded first: as long
  // as `MostDiscarded` says, and where it is clear where it ends.
  bool AtOnce(const HttpRequest& request, const HttpAnswer& refusal) const;
  size_t MostDiscarded() const { return 16 * body_bytes_; }
  HttpAnswer TooLarge() const;

 private:
  explicit Admission(const HttpServerOptions& options)
      : open_paths_(options.open_paths), hosts_(options.hosts), body_bytes_(options.body_bytes) {}

  // 400 for a request that names no host or several, whose body has no known end, or whose headers
  // may be read in another way.
  static std::optional<HttpAnswer> Malformed(const HttpRequest& request, std::string_view version);
  std::optional<HttpAnswer> WrongHost(const HttpRequest& request) const;
  // Whether the request may be handled as far as its token says. Compares tokens in time that does
  // not depend on them, and takes them out of the request.
  bool TakeToken(HttpRequest& request) const;

  std::vector<std::string> open_paths_;
  std::optional<std::vector<std::string>> hosts_;
  size_t body_bytes_;
  std::optional<Hash> token_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_HTTP_ADMISSION_H_
