#include "comm/federation/simulation/ordered_updates.h"

#include <utility>

namespace dtnn::federation {

void OrderedUpdates::Give(int position, UpdateNumbers update) {
  std::unique_lock lock(mutex_);
  moved_.wait(lock, [&] { return position <= next_ + ahead_; });
  early_.emplace(position, std::move(update));
  while (!early_.empty() && early_.begin()->first == next_) {
    take_(next_, std::move(early_.begin()->second));
    early_.erase(early_.begin());
    ++next_;
  }
  moved_.notify_all();
}

}  // namespace dtnn::federation
