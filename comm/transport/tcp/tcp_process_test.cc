#include "comm/transport/tcp/testing/tcp_process.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/transport/tcp/socket.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/tensor.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kTimeout(60);

using Process = absl::StatusOr<std::unique_ptr<ExchangeProcess>>;

// Ranks that are threads.
class Job {
 public:
  explicit Job(int size, bool share_memory = false) : size_(size), share_memory_(share_memory) {
    Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
    address_ = Must(listener.Local());
    std::vector<std::thread> threads;
    processes_.resize(size_t(size));
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        processes_[size_t(rank)] = Start(rank, rank == 0 ? listener.Release() : -1);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  Process Start(int rank, int listener = -1, char secret = 's') const {
    CommunicatorOptions options;
    options.timeout = kTimeout;
    return StartTcpProcess(options,
                           {.rank = rank,
                            .size = size_,
                            .address = address_,
                            .listener = listener,
                            .share_memory = share_memory_},
                           Must(JobSecret::Of(std::string(40, secret))));
  }

  void OnAll(const std::function<void(Communicator&)>& work) {
    std::vector<std::thread> threads;
    for (std::optional<Process>& process : processes_) {
      threads.emplace_back([&] {
        ASSERT_EQ((*process).status(), absl::OkStatus());
        work(*Must((**process)->Connect()));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  // Whether they can still sum.
  void ExpectToWork() {
    OnAll([this](Communicator& c) {
      const Tensor x = Must(Tensor::Zeros(DType::kFloat32, Shape{3}));
      x.data<float>()[0] = 1;
      EXPECT_EQ(c.AllReduce(x), absl::OkStatus());
      EXPECT_EQ(x.data<float>()[0], float(size_));
    });
  }

 private:
  const int size_;
  const bool share_memory_;
  Endpoint address_;
  std::vector<std::optional<Process>> processes_;
};

TEST(TcpProcessTest, WhoComesWhenAllAreThereIsToldSoAtOnce) {
  Job job(3);
  for (const int rank : {1, 2, 1}) {
    const auto begin = std::chrono::steady_clock::now();
    const absl::Status status = job.Start(rank).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("another process has joined it as rank " + std::to_string(rank)));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kTimeout / 2);
  }
  job.ExpectToWork();
}

TEST(TcpProcessTest, UnknownCallersDoNotDisturbARunningJob) {
  Job job(2);
  EXPECT_EQ(job.Start(1, -1, 'x').status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(job.Start(0).status().code(), absl::StatusCode::kUnavailable) << "its port is taken";
  job.ExpectToWork();
}

// Sums of random numbers, of several sizes, as rank 0 has them.
std::vector<Tensor> SumsOf(int ranks, bool share_memory) {
  std::vector<Tensor> sums;
  Job job(ranks, share_memory);
  job.OnAll([&](Communicator& c) {
    for (const int64_t elements : {1, 1000, 100'003, 3'000'000}) {
      const Tensor x = testing::RandomTensor(DType::kFloat32, {elements}, uint64_t(c.rank()));
      EXPECT_EQ(c.AllReduce(x), absl::OkStatus());
      if (c.rank() == 0) sums.push_back(x);
    }
  });
  return sums;
}

TEST(TcpProcessTest, SharedMemoryGivesTheSameBitsAsSockets) {
  for (const int ranks : {2, 3, 4}) {
    const std::vector<Tensor> by_sockets = SumsOf(ranks, false), shared = SumsOf(ranks, true);
    ASSERT_EQ(by_sockets.size(), 4);
    ASSERT_EQ(shared.size(), 4);
    for (size_t i = 0; i < shared.size(); ++i) {
      EXPECT_EQ(std::memcmp(shared[i].raw_data(), by_sockets[i].raw_data(),
                            size_t(shared[i].num_elements()) * sizeof(float)),
                0)
          << i << " of " << ranks << " ranks";
    }
  }
}

}  // namespace
}  // namespace dtnn
