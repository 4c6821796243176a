// A third party that is a table in memory, for threads as ranks.

#ifndef DTNN_COMM_TRANSPORT_RELAY_TESTING_POST_H_
#define DTNN_COMM_TRANSPORT_RELAY_TESTING_POST_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "comm/transport/relay/datagrams.h"

namespace dtnn::testing {

// A box of messages for each rank.
class Office {
 public:
  struct Box {
    std::deque<std::string> messages;
    std::deque<Instance> left;
    bool open = false;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, Box> boxes;
  std::map<int, int> unposted;  // messages of each rank, since its last Flush
  bool closed = false;
};

class Post : public Datagrams {
 public:
  explicit Post(Office& office) : office_(office) {}
  ~Post() override {
    {
      const std::lock_guard lock(office_.mutex);
      stop_ = true;
      for (auto& [rank, box] : office_.boxes) {
        if (rank != me_.rank) box.left.push_back(me_);
      }
    }
    office_.changed.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Open(const Instance& me, Handlers handlers, const CommunicatorOptions&) override {
    me_ = me;
    thread_ = std::thread([this, handlers = std::move(handlers)] { Run(handlers); });
    return absl::OkStatus();
  }
  void Send(int to, std::string bytes) override {
    const std::lock_guard lock(office_.mutex);
    Office::Box& box = office_.boxes[to];
    ++office_.unposted[me_.rank];
    if (box.open) box.messages.push_back(std::move(bytes));
    office_.changed.notify_all();
  }
  bool Flush(std::chrono::steady_clock::time_point) override {
    const std::lock_guard lock(office_.mutex);
    office_.unposted[me_.rank] = 0;
    return true;
  }
  std::string name() const override { return "post"; }
  size_t window() const override { return 1 << 20; }

 private:
  void Run(const Handlers& handlers) {
    std::unique_lock lock(office_.mutex);
    Office::Box& box = office_.boxes[me_.rank];
    box.open = true;
    while (!stop_ && !office_.closed) {
      if (!box.messages.empty()) {
        const std::string message = std::move(box.messages.front());
        box.messages.pop_front();
        lock.unlock();
        handlers.received(message);
        lock.lock();
      } else if (!box.left.empty()) {
        const Instance left = box.left.front();
        box.left.pop_front();
        lock.unlock();
        handlers.left(left);
        lock.lock();
      } else {
        office_.changed.wait(lock);
      }
    }
    const bool cut = office_.closed;
    lock.unlock();
    if (cut) handlers.cut(absl::UnavailableError("the post has closed"));
  }

  Office& office_;
  Instance me_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TRANSPORT_RELAY_TESTING_POST_H_
