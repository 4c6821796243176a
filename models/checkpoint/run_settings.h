// The data of a run, and the constants of its optimizer and loss: what defines it besides network,
// parameters and progress. A checkpoint contains it, so that a run that resumes with something else
// is refused or warns.

#ifndef DTNN_MODELS_CHECKPOINT_RUN_SETTINGS_H_
#define DTNN_MODELS_CHECKPOINT_RUN_SETTINGS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/loading/fingerprint.h"

namespace dtnn {

struct RunSettings {
  DataFingerprint data = {};                                  // of the training split
  double learning_rate = 0;                                   // the first one, before schedules
  std::map<std::string, double, std::less<>> optimizer = {};  // its constants by name
  double clip_norm = 0;
  double label_smoothing = 0;

  friend bool operator==(const RunSettings&, const RunSettings&) = default;
};

// What may change between epochs, but not within one: all differences except for the learning rate.
std::vector<Difference> Differences(const RunSettings& was, const RunSettings& now);

}  // namespace dtnn

#endif  // DTNN_MODELS_CHECKPOINT_RUN_SETTINGS_H_
