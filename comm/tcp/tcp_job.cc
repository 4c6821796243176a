#include "comm/tcp/tcp_job.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<TcpJob> FindTcpJob(const LaunchPlace& place,
                                  const std::function<const char*(const char*)>& get) {
  const auto text = [&](const char* name) { return get ? get(name) : std::getenv(name); };
  const auto number = [&](const char* name, int otherwise, int most) -> absl::StatusOr<int> {
    const char* const value = text(name);
    int parsed = otherwise;
    if (value == nullptr || (absl::SimpleAtoi(value, &parsed) && parsed >= 0 && parsed <= most)) {
      return parsed;
    }
    return InvalidArgument("environment: ", name, "=", Quoted(value),
                           ": expected a whole number from 0 to ", most);
  };
  DTNN_ASSIGN_OR_RETURN(const int rank, number(kRankVariable, place.rank, 1 << 20));
  DTNN_ASSIGN_OR_RETURN(const int size, number(kSizeVariable, place.ranks, 1 << 20));
  const bool one = text(kRankVariable) != nullptr, other = text(kSizeVariable) != nullptr;
  if (one != other) {
    return InvalidArgument("environment: ", one ? kRankVariable : kSizeVariable,
                           " is set, but not ", one ? kSizeVariable : kRankVariable,
                           "; set both, or neither");
  }
  if (rank >= size) {
    return InvalidArgument("environment: ", kRankVariable, "=", rank, ": expected less than ",
                           kSizeVariable, "=", size);
  }
  const char* const address = text(kAddressVariable);
  if (address != nullptr && *address == '\0') {
    return InvalidArgument("environment: ", kAddressVariable,
                           " is empty: expected where rank 0 listens, or that it is not set");
  }
  const char* const secret = text(kSecretVariable);
  if (secret == nullptr) {
    return InvalidArgument("environment: ", kSecretVariable,
                           " is not set: ranks over TCP recognise "
                           "each other by it. "
                           "Set it to the same random text for all ranks (openssl rand -hex 32)");
  }
  absl::StatusOr<JobSecret> known = JobSecret::Of(secret);
  DTNN_RETURN_IF_ERROR(WithContext(known.status(), "environment: ", kSecretVariable));
  DTNN_ASSIGN_OR_RETURN(const int port, number(kPortVariable, kDefaultPort, 65535));
  DTNN_ASSIGN_OR_RETURN(const int listener, number(kListenerVariable, -1, 1 << 20));
  TcpJob job = {.rendezvous = {.rank = rank,
                               .size = size,
                               .address = {.host = address == nullptr ? kDefaultAddress : address,
                                           .port = uint16_t(port)}},
                .secret = *std::move(known)};
  const char* const plain = text(kPlainVariable);
  if (!IsLoopback(job.rendezvous.address.host) &&
      (plain == nullptr || std::string_view(plain) != "yes")) {
    return InvalidArgument(
        "environment: ", kAddressVariable, "=", job.rendezvous.address.host,
        " is not an address of this host alone: TCP would carry what ranks exchange unprotected. "
        "Where nobody else controls the network between the hosts, set ",
        kPlainVariable, "=yes");
  }
  if (rank == 0) job.rendezvous.listener = listener;
  return job;
}

}  // namespace dtnn
