// What defines a run besides network, parameters and progress: its data, the constants of its
// optimizer and loss, and whatever else decides what it computes. A checkpoint contains it, so that
// a run that resumes with something else is refused or warns.

#ifndef DTNN_MODELS_CHECKPOINT_RUN_SETTINGS_H_
#define DTNN_MODELS_CHECKPOINT_RUN_SETTINGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/loading/fingerprint.h"

namespace dtnn {

// Whether a setting may change where a run resumes.
enum class MayChange : uint8_t {
  kYes,           // with a warning
  kAfterAnEpoch,  // likewise, but not within one: its samples or its steps would not be of one kind
  kNever,
};

// Which metrics before and after a change cannot be compared, so that schedulers that watch one of
// them forget their best values.
enum class OtherMetrics : uint8_t {
  kNone,
  kTraining,  // those of validation are computed as before
  kAll,
};

// One more setting, in words: "validation" of "0.2 of the training samples". The rules are those of
// the run that resumes; files have only the words.
struct RunChoice {
  std::string what, value;
  std::string key = {};  // what files have it by; empty: `what`
  MayChange may_change = MayChange::kYes;
  OtherMetrics other_metrics = OtherMetrics::kNone;
  std::string of_scheduler = {};  // only the one of this name forgets; empty: all

  const std::string& file_key() const { return key.empty() ? what : key; }
  friend bool operator==(const RunChoice&, const RunChoice&) = default;
};

struct RunSettings {
  DataFingerprint data = {};                                  // of the training split
  double learning_rate = 0;                                   // the first one, before schedules
  std::map<std::string, double, std::less<>> optimizer = {};  // its constants by name
  double clip_norm = 0;
  double label_smoothing = 0;
  std::vector<RunChoice> choices = {};
  int64_t epochs = 0;  // that the run is to have; 0: not known. A resumed run may have more

  friend bool operator==(const RunSettings&, const RunSettings&) = default;
};

struct SettingChange {
  Difference difference;
  MayChange may_change = MayChange::kYes;
  OtherMetrics other_metrics = OtherMetrics::kNone;
  std::string of_scheduler = {};
};

// All that differ but the learning rate and the number of epochs. A choice that one of the two does
// not have is not compared: an older version did not know it.
std::vector<SettingChange> Changes(const RunSettings& was, const RunSettings& now);

}  // namespace dtnn

#endif  // DTNN_MODELS_CHECKPOINT_RUN_SETTINGS_H_
