// Adds up where the time of training goes: per layer and pass, and per activity.
//
// Only sums are kept, so it costs the same memory for a step and for a week. It is for one rank: it
// counts what one thread does, and, of others, how long loaders read. The time of an activity is
// its own: that of what happens inside it counts there.

#ifndef DTNN_MODELS_OBSERVE_TRACE_PROFILE_H_
#define DTNN_MODELS_OBSERVE_TRACE_PROFILE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "tensor/trace/observer.h"

namespace dtnn {

class Profile : public Observer {
 public:
  struct Sum {
    int64_t calls = 0, samples = 0, bytes = 0;
    int64_t nanoseconds = 0;
  };
  struct LayerSums {
    Sum forward, backward, inference;
  };

  // For a network whose layers have ids below `layers`.
  explicit Profile(int layers) : layers_(size_t(layers)) {}

  // Between spans: from now on counts what the calling thread does; at first, what that does which
  // made it.
  void CountThisThread() { owner_ = std::this_thread::get_id(); }

  void Begin(const Event& event) override;
  void End(const Event& event) override;

  // By id.
  const std::vector<LayerSums>& layers() const { return layers_; }
  // During training, and of checkpoints; without what was inside.
  const Sum& training(Activity activity) const { return training_[size_t(activity)]; }
  // The sum over all activities: the time of training.
  int64_t nanoseconds() const;
  // Time of loaders, on threads of their own.
  int64_t reading_nanoseconds() const { return reading_; }

 private:
  static constexpr size_t kMostDepth = 64;

  void AddLayer(const Event& event);

  std::atomic<std::thread::id> owner_ = std::this_thread::get_id();
  std::vector<LayerSums> layers_;
  std::array<Sum, kActivities> training_ = {};
  std::array<int64_t, kMostDepth> inside_ = {};  // time of what was inside each span that is open
  size_t depth_ = 0;                             // of open spans
  int training_depth_ = 0;
  std::atomic<int64_t> reading_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_PROFILE_H_
