// What the attempts at a round tell of a client.

#include <algorithm>

#include "comm/federation/aggregator/rounds.h"

namespace dtnn::federation {

// At most: a sum of the fewest updates of which there is one, of which each is read where that can
// be.
absl::Status Rounds::Charge(int asked) {
  const PrivacyOptions& privacy = protector_.privacy();
  if (!privacy.on()) return absl::OkStatus();
  settled_ = state_.privacy;
  const bool reads_updates = protector_.protection() == Protection::kNone;
  const int together = protector_.together(options_.min_clients, asked);
  const int fewest = std::max(together, options_.min_clients);
  if (reads_updates) state_.privacy.AddUpdates(privacy);
  if (protector_.readable() && !reads_updates) state_.privacy.AddRead(privacy, fewest, together);
  state_.privacy.AddModel(privacy, fewest, together, sampling_);
  return options_.charged ? options_.charged(state_) : absl::OkStatus();
}

// What the attempt has told of a client, whether it came to an end or not.
void Rounds::Account(const Attempt& attempt) {
  const PrivacyOptions& privacy = protector_.privacy();
  if (!privacy.on()) return;
  state_.privacy = settled_;
  if (protector_.protection() == Protection::kNone) state_.privacy.AddUpdates(privacy);
  const int asked = int(attempt.asked().size());
  const int together = protector_.together(options_.min_clients, asked);
  if (attempt.opened() > 0) state_.privacy.AddRead(privacy, attempt.opened(), together);
  if (!attempt.failure().ok()) return;
  const int accepted =
      int(std::ranges::count(attempt.asked(), Asked::State::kAccepted, &Asked::state));
  state_.privacy.AddModel(privacy, accepted, together, sampling_);
}

}  // namespace dtnn::federation
