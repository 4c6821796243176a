// Updates that threads make at the same time, one after another in the order of their positions.

#ifndef DTNN_COMM_FEDERATION_SIMULATION_ORDERED_UPDATES_H_
#define DTNN_COMM_FEDERATION_SIMULATION_ORDERED_UPDATES_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace dtnn::federation {

// Empty: there is none.
using UpdateNumbers = std::vector<float>;

class OrderedUpdates {
 public:
  // Calls take(position, update) for 0, 1, 2, ..., by one thread at a time.
  using Take = std::function<void(int position, UpdateNumbers update)>;

  // `ahead`: so many may wait for one of an earlier position.
  OrderedUpdates(int ahead, Take take) : ahead_(ahead), take_(std::move(take)) {}

  // Each position once, by threads that took them in their order and have nothing else to wait for:
  // so the thread of the first one that is missing never waits here.
  void Give(int position, UpdateNumbers update);

 private:
  const int ahead_;
  const Take take_;
  std::mutex mutex_;
  std::condition_variable moved_;
  int next_ = 0;
  std::map<int, UpdateNumbers> early_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_SIMULATION_ORDERED_UPDATES_H_
