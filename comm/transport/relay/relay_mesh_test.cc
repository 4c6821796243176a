// Ranks that are threads, and a third party that is a table in memory.

#include "comm/transport/relay/relay_mesh.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/ranks/exchange/exchange_process.h"
#include "comm/transport/relay/testing/post.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Office;
using testing::Post;

constexpr std::chrono::seconds kTimeout(60);

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

// Takes messages, and never says that they have left.
class SlowPost : public Post {
 public:
  explicit SlowPost(Office& office, std::atomic<bool>& flushes) : Post(office), flushes_(flushes) {}
  bool Flush(std::chrono::steady_clock::time_point until) override {
    flushes_ = true;
    std::this_thread::sleep_until(until);
    return false;
  }

 private:
  std::atomic<bool>& flushes_;
};

TEST(RelayMeshTest, ASignalEndsTheWaitForWhatIsToLeave) {
  Office office;
  std::atomic<bool> flushes = false, over = false;
  absl::Status status;
  OnRanks(2, [&](int rank) {
    if (rank == 0) {
      const Mesh mesh = Must(Join(office, 0, 2));
      while (!over) std::this_thread::yield();
      return;
    }
    status = MeetThrough(std::make_unique<SlowPost>(office, flushes), 1, 2,
                         Must(JobSecret::Of(std::string(40, 's'))),
                         {.timeout = std::chrono::seconds(10),
                          .interrupted = [&] { return flushes.load(); },
                          .grace = std::chrono::milliseconds(0)})
                 .status();
    over = true;
  });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("rank 1 has waited"), HasSubstr("to leave by post"),
                    HasSubstr("when it received the signal to end")));
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

TEST(RelayMeshTest, CallersWithoutTheSecretAreNamedToo) {
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
