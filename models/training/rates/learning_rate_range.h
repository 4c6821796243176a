// The range test of the learning rate (Smith, "Cyclical learning rates for training neural
// networks", WACV 2017): a short training in which the rate grows from update to update, and what
// the loss does meanwhile.
//
// The rate grows by a constant factor. The loss is smoothed over about ten updates. The test ends
// early where the smoothed loss is four times its least, or not finite. What is suggested is a
// tenth of the rate of the least loss, as by fastai's lr_find ("minimum"): at that rate itself
// training is about to diverge.

#ifndef DTNN_MODELS_TRAINING_RATES_LEARNING_RATE_RANGE_H_
#define DTNN_MODELS_TRAINING_RATES_LEARNING_RATE_RANGE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "data/loading/loader.h"
#include "models/training/step/step_engine.h"

namespace dtnn {

struct LearningRateRange {
  static constexpr double kFrom = 1e-7, kTo = 10;
  static constexpr int64_t kUpdates = 100;

  struct Point {
    double rate = 0;
    double loss = 0;  // smoothed; mean over all samples of all ranks
  };
  std::vector<Point> points;  // one for each update whose loss was finite
  double suggestion = 0;      // of two digits
};

// Trains the engine's parameters, which nothing but this test should need, on batches of the
// loader, which then stands somewhere in an epoch. All ranks call it together and get the same
// result. FailedPrecondition where the loss falls at no rate, and for a loader without batches.
absl::StatusOr<LearningRateRange> FindLearningRate(StepEngine& engine, Loader& training);

}  // namespace dtnn

#endif  // DTNN_MODELS_TRAINING_RATES_LEARNING_RATE_RANGE_H_
