// The best value of a metric so far. Only what is better by more than `min_delta` improves it; NaN
// never does.

#ifndef DTNN_OPTIM_SCHEDULERS_BEST_VALUE_H_
#define DTNN_OPTIM_SCHEDULERS_BEST_VALUE_H_

#include <limits>

#include "optim/losses/better.h"

namespace dtnn {

class BestValue {
 public:
  explicit BestValue(Better better) : better_(better) {}

  // Takes the value over where it improves, and says whether it did.
  bool Improve(double value, double min_delta = 0) {
    const double least = better_ == Better::kLarger ? best_ + min_delta : best_ - min_delta;
    if (!IsBetter(better_, value, least)) return false;
    best_ = value;
    return true;
  }

  double value() const { return best_; }  // infinite before the first
  void set_value(double value) { best_ = value; }

 private:
  Better better_;
  double best_ = better_ == Better::kLarger ? -std::numeric_limits<double>::infinity()
                                            : std::numeric_limits<double>::infinity();
};

}  // namespace dtnn

#endif  // DTNN_OPTIM_SCHEDULERS_BEST_VALUE_H_
