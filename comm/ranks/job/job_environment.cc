#include "comm/ranks/job/job_environment.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "tensor/errors.h"
#include "tensor/files/access/private_file.h"

namespace dtnn {
namespace {

constexpr int64_t kMostSecretBytes = 4096;

// `launcher`: another one than ours has numbered the processes.
absl::StatusOr<JobSecret> FindSecret(const char* secret, const char* file, bool launcher) {
  if (secret != nullptr && file != nullptr) {
    return InvalidArgument("environment: ", kSecretVariable, " and ", kSecretFileVariable,
                           " are both set; set one of them");
  }
  if (secret != nullptr) {
    return WithContext(JobSecret::Of(secret), "environment: ", kSecretVariable);
  }
  if (file != nullptr)
    return WithContext(ReadSecretFile(file), "environment: ", kSecretFileVariable);
  if (launcher) {
    return InvalidArgument("environment: neither ", kSecretVariable, " nor ", kSecretFileVariable,
                           " is set, and mpirun and srun give ranks no secret by which they "
                           "recognise each other without MPI: start them with launch, which does, "
                           "or set ",
                           kSecretFileVariable,
                           " to a file with the same random text for all (openssl rand -hex 32)");
  }
  return InvalidArgument("environment: neither ", kSecretVariable, " nor ", kSecretFileVariable,
                         " is set: ranks without MPI, and the clients of a federation, recognise "
                         "each other by a secret. Set one of them, to the same random text for "
                         "all (openssl rand -hex 32), or to a file that holds it");
}

// The text itself too: /proc shows it as it was when the process started.
void Forget(const char* name) {
  char* const value = std::getenv(name);
  if (value == nullptr) return;
  explicit_bzero(value, std::strlen(value));
  unsetenv(name);
}

// Encrypted, unless only this host sees the bytes or the user wants it so.
absl::Status Protect(const GetVariable& text, const LaunchPlace& place, JobEnvironment& job) {
  DTNN_ASSIGN_OR_RETURN(const std::optional<bool> tls, FindSwitch(kTlsVariable, text));
  DTNN_ASSIGN_OR_RETURN(const std::optional<bool> plain, FindSwitch(kPlainVariable, text));
  const Transport transport = place.transport;
  const bool sealed = transport == Transport::kGrpc || transport == Transport::kMqtt;
  const bool other_hosts = !sealed && !IsLoopback(job.rendezvous.address.host);
  const std::string& host = job.rendezvous.address.host;
  const std::string where = place.address.empty()
                                ? StrCat("environment: ", kAddressVariable, "=", host)
                                : StrCat("ranks meet at ", host);
  if (tls == true && plain == true) {
    return InvalidArgument("environment: ", kTlsVariable, " and ", kPlainVariable,
                           " contradict each other; set one of them to no");
  }
  if (tls == false && other_hosts && plain != true) {
    return InvalidArgument(
        where,
        " is not an address of this host alone: TCP would carry what ranks exchange "
        "unprotected. Where nobody else controls the network between the hosts, set ",
        kPlainVariable, "=yes, else ", kTlsVariable, "=yes");
  }
  if (other_hosts && plain == true) {
    job.warning = StrCat(where, ", ", kPlainVariable,
                         "=yes: anyone who reaches the network between "
                         "the hosts can read and change what ranks exchange");
  }
  if (plain == true || !(tls.value_or(other_hosts))) {
    // Messages are sealed; what the broker knows this user by is not.
    if (transport == Transport::kMqtt && !job.broker_password.empty() &&
        !IsLoopback(job.rendezvous.address.host)) {
      job.warning = StrCat("environment: ", kBrokerPasswordVariable, " is set, and the broker at ",
                           job.rendezvous.address.host,
                           " is called without TLS: anyone who watches the "
                           "network can read the password. Set ",
                           kTlsVariable, "=yes");
    }
    return absl::OkStatus();
  }
  const char* const certificate = text(kCertificateVariable);
  const char* const key = text(kKeyVariable);
  const char* const authority = text(kAuthorityVariable);
  const bool shows_none = transport == Transport::kMqtt && certificate == nullptr &&
                          key == nullptr && authority != nullptr;
  if (!shows_none && (certificate == nullptr || key == nullptr)) {
    return InvalidArgument(
        "environment: ", certificate == nullptr ? kCertificateVariable : kKeyVariable,
        " is not set: ranks ",
        other_hosts ? StrCat("that meet at ", job.rendezvous.address.host)
                    : StrCat("with ", kTlsVariable, "=yes"),
        " show each other certificates. Set ", kCertificateVariable, ", ", kKeyVariable, " and ",
        kAuthorityVariable, " to files of this host (make_certificates writes them), or ",
        kPlainVariable, "=yes where nobody else controls the network");
  }
  job.tls = {.certificate = shows_none ? "" : certificate,
             .key = shows_none ? "" : key,
             .authority = authority == nullptr ? certificate : authority};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadSecretText(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, ReadPrivateFile(path, kMostSecretBytes));
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  explicit_bzero(bytes.data(), bytes.size());
  text.resize(std::min(text.size(), text.find_first_of("\r\n")));
  return text;
}

absl::StatusOr<JobSecret> ReadSecretFile(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(std::string text, ReadSecretText(path));
  absl::StatusOr<JobSecret> secret = WithContext(JobSecret::Of(text), path);
  explicit_bzero(text.data(), text.size());
  return secret;
}

absl::StatusOr<std::optional<bool>> FindSwitch(const char* name, const GetVariable& get) {
  const char* const value = get ? get(name) : std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::string word = absl::AsciiStrToLower(value);
  for (const std::string_view yes : {"yes", "true", "on", "1"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"no", "false", "off", "0"}) {
    if (word == no) return false;
  }
  return InvalidArgument("environment: ", name, "=", Quoted(value), ": must be yes or no");
}

absl::StatusOr<JobEnvironment> FindJob(const LaunchPlace& place, const GetVariable& get) {
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
  const char* const address = place.address.empty() ? text(kAddressVariable) : nullptr;
  if (address != nullptr && *address == '\0') {
    return InvalidArgument("environment: ", kAddressVariable,
                           " is empty: expected where rank 0 listens, or that it is not set");
  }
  absl::StatusOr<JobSecret> known =
      FindSecret(text(kSecretVariable), text(kSecretFileVariable), place.launched && !one);
  DTNN_RETURN_IF_ERROR(known.status());
  const auto broker = [&](const char* name) {
    const char* const value = text(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string user = broker(kBrokerUserVariable), password = broker(kBrokerPasswordVariable);
  if (!get) {
    Forget(kSecretVariable);
    Forget(kBrokerPasswordVariable);
    KeepFromDumps();
  }
  DTNN_ASSIGN_OR_RETURN(const std::optional<bool> tls, FindSwitch(kTlsVariable, text));
  const int usual = place.transport != Transport::kMqtt ? kDefaultPort
                    : tls.value_or(false)               ? kBrokerTlsPort
                                                        : kBrokerPort;
  Endpoint meeting = {.host = address == nullptr ? kDefaultAddress : address};
  if (place.address.empty()) {
    DTNN_ASSIGN_OR_RETURN(const int port, number(kPortVariable, usual, 65535));
    meeting.port = uint16_t(port);
  } else {
    DTNN_ASSIGN_OR_RETURN(
        meeting, WithContext(ParseEndpoint(place.address), "the address where ranks meet"));
  }
  DTNN_ASSIGN_OR_RETURN(const int listener, number(kListenerVariable, -1, 1 << 20));
  JobEnvironment job = {.rendezvous = {.rank = rank, .size = size, .address = std::move(meeting)},
                        .secret = *std::move(known),
                        .elastic = place.elastic,
                        .broker_user = user,
                        .broker_password = password};
  DTNN_RETURN_IF_ERROR(Protect(text, place, job));
  DTNN_ASSIGN_OR_RETURN(const std::optional<bool> shared, FindSwitch(kSharedMemoryVariable, text));
  job.rendezvous.share_memory = shared.value_or(true);
  if (rank == 0) job.rendezvous.listener = listener;
  return job;
}

absl::Status CheckNotOfOtherJob(bool together, const GetVariable& get) {
  const auto text = [&](const char* name) { return get ? get(name) : std::getenv(name); };
  constexpr char kWhatToDo[] =
      "but MPI finds no other ranks: each would do the whole work, into the same files. Let them "
      "meet by TCP (PYMPI_PROTO=tcp), or start them with mpirun";
  const char* const size = text(kSizeVariable);
  int ranks = 1;
  if (size != nullptr && absl::SimpleAtoi(size, &ranks) && ranks > 1) {
    return InvalidArgument("environment: ", kSizeVariable, "=", ranks,
                           ": this process is one of several ranks, ", kWhatToDo);
  }
  for (const char* const name : {kSecretVariable, kSecretFileVariable}) {
    if (!together || text(name) == nullptr) continue;
    return InvalidArgument("environment: ", name,
                           " is set: this process belongs to a job of ranks without MPI, ",
                           kWhatToDo);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
