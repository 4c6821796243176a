#include "models/observe/trace/profile.h"

namespace dtnn {
namespace {

bool IsTraining(Activity activity) {
  return activity == Activity::kTraining || activity == Activity::kStep;
}

void AddTo(Profile::Sum& sum, const Event& event, int64_t nanoseconds) {
  ++sum.calls;
  sum.samples += event.samples;
  sum.bytes += event.bytes;
  sum.nanoseconds += nanoseconds;
}

}  // namespace

void Profile::Begin(const Event& event) {
  if (std::this_thread::get_id() != owner_) return;
  if (IsTraining(event.activity)) ++training_depth_;
  if (depth_ < kMostDepth) inside_[depth_] = 0;
  ++depth_;
}

void Profile::End(const Event& event) {
  const int64_t time = event.end - event.begin;
  if (std::this_thread::get_id() != owner_) {
    if (event.activity == Activity::kReadData) reading_ += time;
    return;
  }
  if (depth_ == 0) return;  // begun before anybody listened
  --depth_;
  const int64_t inside = depth_ < kMostDepth ? inside_[depth_] : 0;
  if (depth_ > 0 && depth_ <= kMostDepth) inside_[depth_ - 1] += time;
  if (training_depth_ > 0 || event.activity == Activity::kCheckpoint) {
    AddTo(training_[size_t(event.activity)], event, time - inside);
  }
  if (IsTraining(event.activity)) --training_depth_;
  if (event.layer >= 0 && size_t(event.layer) < layers_.size()) AddLayer(event);
}

void Profile::AddLayer(const Event& event) {
  LayerSums& sums = layers_[size_t(event.layer)];
  const int64_t time = event.end - event.begin;
  if (event.activity == Activity::kForward) AddTo(sums.forward, event, time);
  if (event.activity == Activity::kBackward) AddTo(sums.backward, event, time);
  if (event.activity == Activity::kInference) AddTo(sums.inference, event, time);
}

int64_t Profile::nanoseconds() const {
  int64_t all = 0;
  for (const Sum& sum : training_) all += sum.nanoseconds;
  return all;
}

}  // namespace dtnn
