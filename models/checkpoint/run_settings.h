// What a run is, besides its network, its parameters and the place where it stands: its data, and
// the constants of its updates and its loss. A checkpoint carries it, so that a run that goes on
// with something else is refused or says so.

#ifndef DTNN_MODELS_CHECKPOINT_RUN_SETTINGS_H_
#define DTNN_MODELS_CHECKPOINT_RUN_SETTINGS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/loading/fingerprint.h"

namespace dtnn {

struct RunSettings {
  DataFingerprint data = {};  // of the training split
  double learning_rate = 0;   // that the run begins with, before schedules
  std::map<std::string, double, std::less<>> optimizer = {};  // its constants by name
  double clip_norm = 0;
  double label_smoothing = 0;

  friend bool operator==(const RunSettings&, const RunSettings&) = default;
};

// What may change between epochs, but not in the middle of one: all that differs but the learning
// rate.
std::vector<Difference> Differences(const RunSettings& was, const RunSettings& now);

}  // namespace dtnn

#endif  // DTNN_MODELS_CHECKPOINT_RUN_SETTINGS_H_
