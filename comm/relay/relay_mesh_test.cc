// Ranks that are threads, and a third party that is a table in memory.

#include "comm/relay/relay_mesh.h"

#include <barrier>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/exchange/exchange_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kTimeout(60);

// A box of messages for each rank.
class Office {
 public:
  struct Box {
    std::deque<std::string> letters;
    std::optional<Instance> left;
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
        if (rank != me_.rank) box.left = me_;
      }
    }
    office_.changed.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Open(const Instance& me, Ears ears, const CommunicatorOptions&) override {
    me_ = me;
    thread_ = std::thread([this, ears = std::move(ears)] { Run(ears); });
    return absl::OkStatus();
  }
  void Send(int to, std::string bytes) override {
    const std::lock_guard lock(office_.mutex);
    Office::Box& box = office_.boxes[to];
    ++office_.unposted[me_.rank];
    if (box.open) box.letters.push_back(std::move(bytes));
    office_.changed.notify_all();
  }
  void Flush(std::chrono::steady_clock::time_point) override {
    const std::lock_guard lock(office_.mutex);
    office_.unposted[me_.rank] = 0;
  }
  std::string name() const override { return "post"; }
  size_t window() const override { return 1 << 20; }

 private:
  void Run(const Ears& ears) {
    std::unique_lock lock(office_.mutex);
    Office::Box& box = office_.boxes[me_.rank];
    box.open = true;
    while (!stop_ && !office_.closed) {
      if (!box.letters.empty()) {
        const std::string letter = std::move(box.letters.front());
        box.letters.pop_front();
        lock.unlock();
        ears.heard(letter);
        lock.lock();
      } else if (const auto left = std::exchange(box.left, std::nullopt)) {
        lock.unlock();
        ears.left(*left);
        lock.lock();
      } else {
        office_.changed.wait(lock);
      }
    }
    const bool cut = office_.closed;
    lock.unlock();
    if (cut) ears.cut(absl::UnavailableError("the post has closed"));
  }

  Office& office_;
  Instance me_;
  bool stop_ = false;
  std::thread thread_;
};

absl::StatusOr<Mesh> Join(Office& office, int rank, int size, char letter = 's',
                          std::chrono::milliseconds timeout = kTimeout) {
  CommunicatorOptions patience;
  patience.timeout = timeout;
  return MeetThrough(std::make_unique<Post>(office), rank, size,
                     Must(JobSecret::Of(std::string(40, letter))), patience);
}

void OnRanks(int size, const std::function<void(int)>& body) {
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.emplace_back([&, rank] { body(rank); });
  for (std::thread& rank : ranks) rank.join();
}

TEST(RelayMeshTest, RanksSum) {
  for (const int size : {1, 2, 3, 5}) {
    Office office;
    OnRanks(size, [&](int rank) {
      Mesh mesh = Must(Join(office, rank, size));
      EXPECT_EQ(mesh.place.rank, rank);
      EXPECT_EQ(mesh.place.node_size, size);
      ExchangeProcess process({.timeout = kTimeout}, std::move(mesh));
      const std::unique_ptr<Communicator> c = Must(process.Connect({.timeout = kTimeout}));
      for (const int64_t count : {int64_t{1}, int64_t{1} << 20}) {  // 4 MiB: beyond a window
        const Tensor x = Must(Tensor::Zeros(DType::kFloat32, Shape{count}));
        x.data<float>()[count - 1] = float(rank + 1);
        EXPECT_EQ(c->AllReduce(x), absl::OkStatus());
        EXPECT_EQ(x.data<float>()[count - 1], float(size * (size + 1) / 2));
      }
      EXPECT_EQ(process.Finish(), absl::OkStatus());
    });
  }
}

TEST(RelayMeshTest, WhoHasMetTheOthersOwesThemNothing) {
  Office office;
  OnRanks(3, [&](int rank) {
    const Mesh mesh = Must(Join(office, rank, 3));
    const std::lock_guard lock(office.mutex);
    EXPECT_EQ(office.unposted[rank], 0);
  });
}

TEST(RelayMeshTest, ARankThatLeavesIsMissedAtOnce) {
  Office office;
  std::barrier connected(3);
  OnRanks(3, [&](int rank) {
    ExchangeProcess process({.timeout = kTimeout}, Must(Join(office, rank, 3)));
    const std::unique_ptr<Communicator> c = Must(process.Connect({.timeout = kTimeout}));
    connected.arrive_and_wait();
    if (rank == 1) return;
    const absl::Status status = c->Barrier();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 left before collective number 0"));
    EXPECT_EQ(c->lost(), std::vector<int>{1});
  });
}

TEST(RelayMeshTest, WhenTheThirdPartyGoesAllAreTold) {
  Office office;
  std::barrier connected(2);
  OnRanks(2, [&](int rank) {
    ExchangeProcess process({.timeout = kTimeout}, Must(Join(office, rank, 2)));
    const std::unique_ptr<Communicator> c = Must(process.Connect({.timeout = kTimeout}));
    connected.arrive_and_wait();
    if (rank == 0) {
      const std::lock_guard lock(office.mutex);
      office.closed = true;
      office.changed.notify_all();
    }
    const absl::Status status = c->Barrier();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("the post has closed"));
  });
}

TEST(RelayMeshTest, WhoDoesNotComeIsNamed) {
  Office office;
  const absl::Status status = Join(office, 1, 3, 's', std::chrono::milliseconds(300)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("for ranks 0, 2 to join by post"));
}

TEST(RelayMeshTest, StrangersAreNamedToo) {
  Office office;
  std::vector<absl::Status> statuses(2);
  OnRanks(2, [&](int rank) {
    statuses[size_t(rank)] =
        Join(office, rank, 2, char('s' + rank), std::chrono::milliseconds(1000)).status();
  });
  EXPECT_EQ(statuses[0].code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(statuses[0].message()),
              HasSubstr("refused: rank 1, which does not know this job's secret"));
}

}  // namespace
}  // namespace dtnn
