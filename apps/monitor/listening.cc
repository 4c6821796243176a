#include "apps/monitor/listening.h"

#include <openssl/crypto.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/transport/tcp/socket.h"
#include "tensor/errors.h"
#include "tensor/files/access/private_file.h"

namespace dtnn {
namespace {

constexpr size_t kLeastToken = 16, kMostToken = 4096;

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  if (path.empty()) return std::string();
  DTNN_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, ReadPrivateFile(path, kMostToken));
  std::string token(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  OPENSSL_cleanse(bytes.data(), bytes.size());
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const bool printable = std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
  if (printable && token.size() >= kLeastToken) return token;
  return InvalidArgument(path, ": expected a token of ", kLeastToken,
                         " characters or more, without spaces; openssl rand -hex 32 makes one");
}

absl::Status CheckAddress(const std::string& listen, std::string_view flags) {
  const absl::StatusOr<std::vector<SocketAddress>> addresses = Resolve({.host = listen});
  const bool own = addresses.ok() && std::ranges::any_of(*addresses, [](const auto& address) {
                     const auto* const at = reinterpret_cast<const sockaddr*>(&address.bytes);
                     const Socket socket(::socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
                     return bind(socket.descriptor(), at, address.size) == 0;
                   });
  if (own) return absl::OkStatus();
  return UsageError(flags, "listen=", listen,
                    " is not an address of this host; expected one, or 0.0.0.0 for all of them");
}

absl::Status CheckProtection(const ListenOptions& options, std::string_view flags) {
  if (options.certificate.empty() != options.key.empty()) {
    return UsageError(flags, "certificate and ", flags, "key: give both, or neither");
  }
  if (IsLoopback(options.listen) || options.allow_unprotected) return absl::OkStatus();
  if (!options.certificate.empty() && !options.token_file.empty()) return absl::OkStatus();
  return UsageError(flags, "listen=", options.listen, ": other hosts can connect there; give ",
                    flags, "certificate, ", flags, "key and ", flags, "token-file, or ", flags,
                    "allow-unprotected where something else protects it");
}

// The names that requests may call this host by, where a page in a browser could otherwise send
// some: without a token and for this host alone, and where names are given.
std::optional<std::vector<std::string>> HostsOf(const ListenOptions& options) {
  const bool open = options.token_file.empty() && IsLoopback(options.listen);
  if (!open && options.allowed_hosts.empty()) return std::nullopt;
  std::vector<std::string> hosts = {options.listen};
  for (const std::string_view name : SplitList(options.allowed_hosts)) hosts.emplace_back(name);
  return hosts;
}

}  // namespace

absl::StatusOr<HttpServerOptions> ListeningAt(const ListenOptions& options, int64_t port,
                                              std::string_view flags) {
  DTNN_RETURN_IF_ERROR(CheckAddress(options.listen, flags));
  DTNN_RETURN_IF_ERROR(CheckProtection(options, flags));
  DTNN_ASSIGN_OR_RETURN(std::string token, ReadToken(options.token_file));
  return HttpServerOptions{.address = {.host = options.listen, .port = uint16_t(port)},
                           .certificate_file = options.certificate,
                           .key_file = options.key,
                           .token = std::move(token),
                           .hosts = HostsOf(options)};
}

}  // namespace dtnn
