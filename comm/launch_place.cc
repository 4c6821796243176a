#include "comm/launch_place.h"

#include <cstdlib>
#include <span>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// The variables of one launcher.
struct Launcher {
  const char* rank;
  const char* ranks;
};

constexpr Launcher kOwnLauncher = {kRankVariable, kSizeVariable};
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"PMIX_RANK", "SLURM_NTASKS"},  // PMIx itself does not say how many
};

const char* Text(const GetVariable& get, const char* name) {
  return get ? get(name) : std::getenv(name);
}

int Number(const GetVariable& get, const char* name) {
  const char* const text = Text(get, name);
  int value = -1;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : -1;
}

Transport FindTransport(const GetVariable& get) {
  const char* const text = Text(get, kTransportVariable);
  return text == nullptr || *text == '\0' ? Transport::kMpi : TransportOf(text);
}

// As the launchers say.
LaunchPlace FindLaunched(const GetVariable& get, std::span<const Launcher> launchers) {
  for (const Launcher& launcher : launchers) {
    const int rank = Number(get, launcher.rank), ranks = Number(get, launcher.ranks);
    if (rank >= 0 && rank < ranks) return {.launched = true, .rank = rank, .ranks = ranks};
  }
  return {};
}

}  // namespace

Transport TransportOf(std::string_view word) {
  const std::string lower = absl::AsciiStrToLower(std::string(word));
  for (const Transport transport :
       {Transport::kMpi, Transport::kTcp, Transport::kGrpc, Transport::kMqtt}) {
    if (lower == Name(transport)) return transport;
  }
  return Transport::kUnknown;
}

std::string_view Name(Transport transport) {
  switch (transport) {
    case Transport::kMpi:
      return "mpi";
    case Transport::kTcp:
      return "tcp";
    case Transport::kGrpc:
      return "grpc";
    case Transport::kMqtt:
      return "mqtt";
    case Transport::kUnknown:
      break;
  }
  return "unknown";
}

LaunchPlace FindLaunchPlace(const JobChoice& choice, const GetVariable& get) {
  const Transport transport = choice.transport.value_or(FindTransport(get));
  LaunchPlace place;
  const bool own = transport != Transport::kMpi && transport != Transport::kUnknown;
  if (own) place = FindLaunched(get, {&kOwnLauncher, 1});
  if (!place.launched) place = FindLaunched(get, kLaunchers);
  if (!place.launched && own) place = FindUnconnectedPlace(get);
  place.transport = transport;
  place.address = choice.address;
  const char* const elastic = Text(get, kElasticVariable);
  if (elastic != nullptr) place.elastic = elastic;
  const bool of_fixed_ranks = Text(get, kRankVariable) != nullptr && elastic == nullptr;
  if (!choice.elastic.empty() && transport == Transport::kTcp && !of_fixed_ranks) {
    place.elastic = choice.elastic;
  }
  return place;
}

absl::Status CheckTransport(const GetVariable& get) {
  if (FindTransport(get) != Transport::kUnknown) return absl::OkStatus();
  return InvalidArgument(
      "environment: ", kTransportVariable, "=", Quoted(Text(get, kTransportVariable)),
      ": there is no such transport in this build; must be mpi, tcp, grpc or mqtt");
}

LaunchPlace FindUnconnectedPlace(const GetVariable& get) {
  if (FindLaunched(get, kLaunchers).launched) return {};
  const bool step = Text(get, "SLURM_STEP_ID") != nullptr;
  const int rank = Number(get, "SLURM_PROCID");
  int ranks = Number(get, "SLURM_STEP_NUM_TASKS");
  if (ranks < 0) ranks = Number(get, "SLURM_NTASKS");
  const bool batch_script = rank == 0 && !step && Text(get, "SLURM_JOB_ID") != nullptr;
  if (batch_script || ranks < 2 || rank < 0 || rank >= ranks) return {};
  return {.launched = true, .rank = rank, .ranks = ranks};
}

}  // namespace dtnn
