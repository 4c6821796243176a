// What decides the numbers of a step besides parameters and optimizer: which samples it sees, what
// happens to them on the way, and how many steps make an update. An epoch that was left in the
// middle goes on as if it had not been only where all of this is as it was; the next epoch may have
// other settings.

#ifndef DTNN_MODELS_SAMPLER_SETTINGS_H_
#define DTNN_MODELS_SAMPLER_SETTINGS_H_

#include <cstdint>
#include <string>

#include "data/loader.h"
#include "models/training_state.h"

namespace dtnn {

SamplerSettings SettingsOf(const Loader& training, int64_t accumulate_steps);

// Files of older versions have no details: any are the same then.
bool SameSettings(const SamplerSettings& a, const SamplerSettings& b);

// For messages.
std::string Describe(const SamplerSettings& settings);

}  // namespace dtnn

#endif  // DTNN_MODELS_SAMPLER_SETTINGS_H_
