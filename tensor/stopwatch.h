// Seconds of the clock on the wall.

#ifndef DTNN_TENSOR_STOPWATCH_H_
#define DTNN_TENSOR_STOPWATCH_H_

#include <chrono>

namespace dtnn {

class Stopwatch {
 public:
  // Since it was made.
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Adds the time that it lives to `seconds`.
class AddTime {
 public:
  explicit AddTime(double& seconds) : seconds_(seconds) {}
  ~AddTime() { seconds_ += stopwatch_.seconds(); }
  AddTime(const AddTime&) = delete;
  AddTime& operator=(const AddTime&) = delete;

 private:
  double& seconds_;
  const Stopwatch stopwatch_;
};

}  // namespace dtnn

#endif  // DTNN_TENSOR_STOPWATCH_H_
