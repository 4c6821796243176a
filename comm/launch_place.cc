#include "comm/launch_place.h"

#include <cstdlib>
#include <string_view>

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

}  // namespace

LaunchPlace FindLaunchPlace(const std::function<const char*(const char*)>& get) {
  const auto number = [&get](const char* name) {
    const char* const text = get ? get(name) : std::getenv(name);
    int value = -1;
    return text != nullptr && absl::SimpleAtoi(text, &value) ? value : -1;
  };
  for (const Launcher& launcher : kLaunchers) {
    const int rank = number(launcher.rank), ranks = number(launcher.ranks);
    if (rank >= 0 && rank < ranks) return {.launched = true, .rank = rank, .ranks = ranks};
  }
  return {};
}

}  // namespace dtnn
