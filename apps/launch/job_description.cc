#include "apps/launch/job_description.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/flags/value.h"
#include "comm/launch_place.h"
#include "comm/ranks/elastic/elastic_range.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/secrets/crypto/job_secret.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

struct Host {
  std::string name;  // as it was given
  std::string ssh;   // the host's name for ssh; empty: this host
  bool here() const { return ssh.empty(); }
};

absl::StatusOr<std::vector<Host>> Hosts(const LaunchOptions& options) {
  std::vector<Host> hosts;
  for (const std::string_view host : SplitList(options.hosts)) {
    // To ssh a host that begins with a dash is an option.
    if (host.empty() || host.starts_with('-') || host.find_first_of(" \t\n") != host.npos) {
      return UsageError("--hosts=", Quoted(options.hosts),
                        ": must be names or addresses of hosts, separated by commas");
    }
    const size_t at = host.find('@');  // user@host is ssh's
    const std::string name(host.substr(at == host.npos ? 0 : at + 1));
    hosts.push_back({.name = name, .ssh = IsLoopback(name) ? "" : std::string(host)});
  }
  if (hosts.empty()) hosts.push_back({.name = "localhost", .ssh = ""});
  if (!options.hosts.empty() && int64_t(hosts.size()) > options.ranks) {
    return UsageError("--hosts: names ", hosts.size(), " hosts for ", options.ranks,
                      " ranks; each must have at least one");
  }
  return hosts;
}

// The variables of the user's environment that ranks on other hosts get.
absl::StatusOr<Variables> Exported(const LaunchOptions& options) {
  Variables variables;
  for (const std::string_view item : SplitList(options.variables)) {
    const std::string name(item);
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return UsageError("--variables: ", Quoted(name), " is not set");
    if (std::string_view(value).find('\n') != std::string_view::npos) {
      return UsageError("--variables: ", name, " has several lines; must be one line");
    }
    variables.emplace_back(name, value);
  }
  return variables;
}

// A variable of the user's environment, or empty.
std::string OwnVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where it is as the environment says, or on the ranks' own host.
absl::StatusOr<Endpoint> Broker(const LaunchOptions& options, bool here) {
  const std::string address = OwnVariable(kAddressVariable), port = OwnVariable(kPortVariable);
  if (address.empty() && !here) {
    return UsageError("--rendezvous: missing; say where the ranks find the MQTT broker: HOST:PORT");
  }
  const absl::StatusOr<std::optional<bool>> asked = FindSwitch(kTlsVariable);
  if (!asked.ok()) return WithExitCode(asked.status(), kExitUsage);
  // As ranks decide it, by what Protection() tells them.
  const bool tls = !options.plain && (!options.certificates.empty() || asked->value_or(false));
  return OfFlag(ParseEndpoint(StrCat(
                    address.empty() ? kDefaultAddress : address, ":",
                    port.empty() ? std::to_string(tls ? kBrokerTlsPort : kBrokerPort) : port)),
                StrCat(kAddressVariable, ", ", kPortVariable));
}

absl::StatusOr<Endpoint> MeetingPlace(const LaunchOptions& options,
                                      const std::vector<Host>& hosts) {
  if (!options.rendezvous.empty()) {
    return OfFlag(ParseEndpoint(options.rendezvous), "--rendezvous");
  }
  const bool here = std::ranges::all_of(hosts, &Host::here);
  if (options.transport == Transport::kMqtt) return Broker(options, here);
  if (here) return Endpoint{.host = kDefaultAddress, .port = 0};
  if (!options.elastic.empty()) {
    return UsageError(
        "--rendezvous: missing; with --elastic the launcher listens itself, so say by which name "
        "or "
        "address of this host the others reach it: HOST:PORT");
  }
  if (hosts[0].here()) {
    return UsageError(
        "--rendezvous: missing; rank 0 is on this host, so say by which name or address the others "
        "reach it: HOST:PORT");
  }
  return Endpoint{.host = hosts[0].name, .port = kDefaultPort};
}

// How bytes between ranks of that host and others are protected.
Variables Protection(const LaunchOptions& options, const Host& host) {
  if (options.plain) return {{kPlainVariable, "yes"}};
  // On this host the user's own files serve, where no folder has them for all hosts.
  if (options.certificates.empty()) {
    Variables own;
    for (const char* const name :
         {kTlsVariable, kCertificateVariable, kKeyVariable, kAuthorityVariable}) {
      if (host.here() && std::getenv(name) != nullptr) own.emplace_back(name, OwnVariable(name));
    }
    return own;
  }
  const std::string folder = options.certificates + "/";
  return {{kTlsVariable, "yes"},
          {kCertificateVariable, StrCat(folder, host.name, ".pem")},
          {kKeyVariable, StrCat(folder, host.name, ".key")},
          {kAuthorityVariable, folder + "authority.pem"}};
}

absl::Status CheckElastic(const LaunchOptions& options) {
  DTNN_ASSIGN_OR_RETURN(const ElasticRange range, OfFlag(ElasticRange::Parse(options.elastic),
                                                         "--elastic=", options.elastic));
  if (options.transport != Transport::kTcp) {
    return UsageError("--elastic: needs --transport=tcp, not ", Name(options.transport));
  }
  if (options.ranks == 0 || (options.ranks >= range.min && options.ranks <= range.max)) {
    return absl::OkStatus();
  }
  return UsageError("--ranks=", options.ranks, ": must be from ", range.min, " to ", range.max,
                    ", as --elastic says, or 0 where others start them all");
}

// New for each job, but for one that ranks join which others start: its user knows it.
absl::StatusOr<std::string> SecretOf(const LaunchOptions& options) {
  if (options.elastic.empty()) return JobSecret::NewText();
  const std::string text = OwnVariable(kSecretVariable), file = OwnVariable(kSecretFileVariable);
  if (!text.empty()) return text;
  if (!file.empty()) return WithContext(ReadSecretText(file), kSecretFileVariable);
  return JobSecret::NewText();
}

}  // namespace

absl::StatusOr<JobDescription> DescribeJob(const LaunchOptions& options) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<Host> hosts, Hosts(options));
  DTNN_ASSIGN_OR_RETURN(Endpoint endpoint, MeetingPlace(options, hosts));
  DTNN_ASSIGN_OR_RETURN(Variables variables, Exported(options));
  if (options.plain && !options.certificates.empty()) {
    return UsageError("--plain and --certificates: cannot be used together; give one of them");
  }
  const bool others = !std::ranges::all_of(hosts, &Host::here);
  const bool sealed = options.transport != Transport::kTcp;
  if (others && !options.plain && !sealed && options.certificates.empty()) {
    return UsageError(
        "--certificates: missing; ranks of several hosts show each other certificates, "
        "which make_certificates makes. Where nobody else controls the network "
        "between the hosts, --plain does without");
  }
  const bool elastic = !options.elastic.empty();
  if (elastic) DTNN_RETURN_IF_ERROR(CheckElastic(options));
  JobDescription job;
  if ((elastic || hosts[0].here()) && options.transport != Transport::kMqtt) {
    DTNN_ASSIGN_OR_RETURN(job.listener, Listen(endpoint));
    DTNN_ASSIGN_OR_RETURN(const Endpoint local, job.listener.Local());
    endpoint.port = local.port;
  }
  DTNN_ASSIGN_OR_RETURN(const std::string secret, SecretOf(options));
  const auto set = [&variables](std::string_view name, std::string_view value) {
    variables.emplace_back(name, value);
  };
  // All ranks of all hosts, as those of this one inherit it.
  if (const char* const shares = std::getenv(kSharedMemoryVariable)) {
    set(kSharedMemoryVariable, shares);
  }
  set(kTransportVariable, Name(options.transport));
  set(kAddressVariable, endpoint.host);
  set(kPortVariable, std::to_string(endpoint.port));
  set(kSecretVariable, secret);
  if (elastic) {
    set(kElasticVariable, options.elastic);
    job.coordinator = variables;
    const Host self = {.name = others ? endpoint.host : hosts[0].name, .ssh = ""};
    for (const auto& [name, value] : Protection(options, self)) {
      job.coordinator.emplace_back(name, value);
    }
  }
  set(kSizeVariable, std::to_string(options.ranks));
  for (int64_t rank = 0; rank < options.ranks; ++rank) {
    const Host& host = hosts[size_t(rank) * hosts.size() / size_t(options.ranks)];
    RankChildOptions child = {.rank = int(rank),
                              .host = host.ssh,
                              .ssh = options.ssh,
                              .command = options.command,
                              .variables = variables,
                              .prefix = options.prefix ? StrCat("[", rank, "] ") : ""};
    for (const auto& [name, value] : Protection(options, host)) {
      child.variables.emplace_back(name, value);
    }
    child.variables.emplace_back(kRankVariable, std::to_string(rank));
    if (rank == 0 && !elastic && job.listener.descriptor() >= 0) {
      child.listener = job.listener.descriptor();
      child.variables.emplace_back(kListenerVariable, std::to_string(child.listener));
    }
    job.ranks.push_back(std::move(child));
  }
  return job;
}

}  // namespace dtnn
