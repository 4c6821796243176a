// How an interrupted epoch is continued, perhaps on another number of ranks.
//
// The order of its samples and their preprocessing must stay the same, otherwise some would be used
// twice and others not at all. The number of samples per step or update may change: the epoch
// continues after the samples that are done, whatever their steps were, so each is used once. If
// ranks have their own data, there is no common order that other ranks could continue. The next
// epoch may change anything.

#ifndef DTNN_MODELS_TRAINING_SAMPLER_SETTINGS_H_
#define DTNN_MODELS_TRAINING_SAMPLER_SETTINGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/loading/loader.h"
#include "models/checkpoint/training_state.h"
#include "models/training/ranks/rank_shares.h"

namespace dtnn {

// Settings of whole epochs of `training`, of which the ranks have `shares`.
SamplerSettings SettingsOf(const Loader& training, const RankShares& shares);

// A place in an epoch: so many steps after its first samples, which are skipped.
struct EpochPlace {
  int64_t first = 0;
  int64_t step = 0;
};

// Where an epoch that was interrupted after `step` steps with `was` continues with `now`
// (SettingsOf): as a number of steps of a whole epoch, if one of its steps begins there.
// InvalidArgument, with the reason and what to do, if it cannot continue.
absl::StatusOr<EpochPlace> PlaceToResume(const SamplerSettings& was, int64_t step,
                                         const SamplerSettings& now);
// InvalidArgument if no epoch can have been interrupted after `step` steps with `was`.
absl::Status CheckPlace(const SamplerSettings& was, int64_t step);

// The steps that a whole epoch has more than what is left after `settings.first`: those that would
// have led there.
int64_t StepsBeforeFirst(const SamplerSettings& settings);

// For messages.
std::string Describe(const SamplerSettings& settings);

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_SAMPLER_SETTINGS_H_
