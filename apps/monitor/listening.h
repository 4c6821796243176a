// The options of a server of HTTP that a program has, checked: where it listens, and which requests
// it answers. Other hosts need TLS and a token, or an option that says that something else protects
// it; without a token, a server of this host alone answers only requests that call it by a name
// that is its own, since a page in a browser could send others.

#ifndef DTNN_APPS_MONITOR_LISTENING_H_
#define DTNN_APPS_MONITOR_LISTENING_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/flags/listen_options.h"
#include "comm/http/http_server.h"

namespace dtnn {

// The address, certificate, token and names; the rest as it begins. `flags`: what the names of the
// program's flags begin with: "--" or "--metrics-". Usage errors name them; errors of the token's
// file name it.
absl::StatusOr<HttpServerOptions> ListeningAt(const ListenOptions& options, int64_t port,
                                              std::string_view flags);

}  // namespace dtnn

#endif  // DTNN_APPS_MONITOR_LISTENING_H_
