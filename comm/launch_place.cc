#include "comm/launch_place.h"

#include <cstdlib>

#include "absl/strings/numbers.h"

namespace dtnn {
namespace {

// The variables of one launcher.
struct Launcher {
  const char* rank;
  const char* ranks;
};

constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"PMIX_RANK", "SLURM_NTASKS"},  // PMIx itself does not say how many
};

using Get = std::function<const char*(const char*)>;

const char* Text(const Get& get, const char* name) { return get ? get(name) : std::getenv(name); }

int Number(const Get& get, const char* name) {
  const char* const text = Text(get, name);
  int value = -1;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : -1;
}

}  // namespace

LaunchPlace FindLaunchPlace(const Get& get) {
  for (const Launcher& launcher : kLaunchers) {
    const int rank = Number(get, launcher.rank), ranks = Number(get, launcher.ranks);
    if (rank >= 0 && rank < ranks) return {.launched = true, .rank = rank, .ranks = ranks};
  }
  return {};
}

LaunchPlace FindUnconnectedPlace(const Get& get) {
  if (FindLaunchPlace(get).launched) return {};
  const bool step = Text(get, "SLURM_STEP_ID") != nullptr;
  const int rank = Number(get, "SLURM_PROCID");
  int ranks = Number(get, "SLURM_STEP_NUM_TASKS");
  if (ranks < 0) ranks = Number(get, "SLURM_NTASKS");
  const bool batch_script = rank == 0 && !step && Text(get, "SLURM_JOB_ID") != nullptr;
  if (batch_script || ranks < 2 || rank < 0 || rank >= ranks) return {};
  return {.launched = true, .rank = rank, .ranks = ranks};
}

}  // namespace dtnn
