// How an epoch that was left in its middle is gone on with, perhaps on another number of ranks.
//
// The order of its samples, and what happens to each on its way, must be as they were, or some
// would be visited twice and others not at all. How many samples make a step or an update may
// change: the epoch goes on after the samples that are done, whatever steps those were done in, so
// each is visited once. Where ranks have data of their own there is no common order that other
// ranks could go on with. The next epoch may change anything.

#ifndef DTNN_MODELS_TRAINING_SAMPLER_SETTINGS_H_
#define DTNN_MODELS_TRAINING_SAMPLER_SETTINGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/loading/loader.h"
#include "models/checkpoint/training_state.h"
#include "models/training/rank_shares.h"

namespace dtnn {

// Of whole epochs of `training`, of which the ranks have `shares`.
SamplerSettings SettingsOf(const Loader& training, const RankShares& shares);

// A place in an epoch: so many steps after its first samples, which are skipped.
struct EpochPlace {
  int64_t first = 0;
  int64_t step = 0;
};

// Where an epoch that was left after `step` steps with `was` goes on with `now` (SettingsOf). As
// many steps into a whole epoch where one of its steps begins there. InvalidArgument where it
// cannot go on, with the reason and what to do.
absl::StatusOr<EpochPlace> PlaceToGoOn(const SamplerSettings& was, int64_t step,
                                       const SamplerSettings& now);
// InvalidArgument where no epoch can have been left after `step` steps with `was`.
absl::Status CheckPlace(const SamplerSettings& was, int64_t step);

// The steps that a whole epoch has more than what is left after `settings.first`: those that would
// have led there.
int64_t StepsBeforeFirst(const SamplerSettings& settings);

// For messages.
std::string Describe(const SamplerSettings& settings);

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_SAMPLER_SETTINGS_H_
