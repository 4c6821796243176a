// What makes two runs the same run, besides their network, parameters and progress: the data, and
// by name every choice that decides what is computed. Checkpoints and saved models have it, so that
// a run that resumes as another one is refused or warns, and reports say in what runs differ.

#ifndef DTNN_MODELS_CHECKPOINT_RUN_IDENTITY_H_
#define DTNN_MODELS_CHECKPOINT_RUN_IDENTITY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/loading/fingerprint.h"

namespace dtnn {

// Whether a member may change where a run resumes.
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

// "validation split" of "0.2". The rules are those of the run that resumes; files have only the
// words.
struct IdentityMember {
  std::string what, value;
  std::string key = {};  // what files have it by; empty: `what`
  MayChange may_change = MayChange::kYes;
  OtherMetrics other_metrics = OtherMetrics::kNone;
  std::string of_scheduler = {};  // only the one of this name forgets; empty: all

  const std::string& file_key() const { return key.empty() ? what : key; }
  friend bool operator==(const IdentityMember&, const IdentityMember&) = default;
};

struct RunIdentity {
  DataFingerprint data = {};  // of the training split
  double learning_rate = 0;   // the first one, before schedules
  int64_t epochs = 0;         // that the run is to have; 0: not known
  std::vector<IdentityMember> members = {};

  // Null where there is none.
  const IdentityMember* Find(std::string_view file_key) const;
  friend bool operator==(const RunIdentity&, const RunIdentity&) = default;
};

// What a constant of the optimizer is called.
std::string ConstantOfOptimizer(std::string_view name);

struct IdentityChange {
  Difference difference;
  MayChange may_change = MayChange::kYes;
  OtherMetrics other_metrics = OtherMetrics::kNone;
  std::string of_scheduler = {};
};

// The members that differ, and the data, not the learning rate and the number of epochs, of which a
// resumed run may have others. A member that one of the two does not have is not compared: an older
// version did not know it.
std::vector<IdentityChange> Compare(const RunIdentity& was, const RunIdentity& now);

// Whether `was` has all members of `now` that every run has: else an older version wrote it.
bool KnowsAll(const RunIdentity& was, const RunIdentity& now);

}  // namespace dtnn

#endif  // DTNN_MODELS_CHECKPOINT_RUN_IDENTITY_H_
