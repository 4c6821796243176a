#include "comm/ranks/job/save_after_loss.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace dtnn {
namespace {

// Departure codes of the rank that saves.
constexpr int32_t kSaved = 1, kFailed = 2;

// A rank that writes a large file to a slow disk is alive all the time.
constexpr std::chrono::hours kPatience(24);

}  // namespace

bool SaveAfterLoss(Communicator& communicator, absl::FunctionRef<bool()> save) {
  const std::vector<int> lost = communicator.lost();
  for (int writer = 0; writer < communicator.rank(); ++writer) {
    if (std::ranges::count(lost, writer) > 0) continue;
    const std::optional<int32_t> departure_code = communicator.AwaitDeparture(writer, kPatience);
    if (departure_code == kSaved || departure_code == kFailed) return departure_code == kSaved;
  }
  const bool saved = save();
  communicator.set_departure_code(saved ? kSaved : kFailed);
  return saved;
}

}  // namespace dtnn
