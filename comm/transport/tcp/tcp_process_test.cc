#include "comm/transport/tcp/testing/tcp_process.h"

#include <chrono>
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

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::seconds kTimeout(60);

using Process = absl::StatusOr<std::unique_ptr<ExchangeProcess>>;

// Ranks that are threads.
class Job {
 public:
  explicit Job(int size) : size_(size) {
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
                           {.rank = rank, .size = size_, .address = address_, .listener = listener},
                           Must(JobSecret::Of(std::string(40, secret))));
  }

  // Whether they can still sum.
  void ExpectToWork() {
    std::vector<std::thread> threads;
    for (std::optional<Process>& process : processes_) {
      threads.emplace_back([&, this] {
        ASSERT_EQ((*process).status(), absl::OkStatus());
        const std::unique_ptr<Communicator> c = Must((**process)->Connect());
        const Tensor x = Must(Tensor::Zeros(DType::kFloat32, Shape{3}));
        x.data<float>()[0] = 1;
        EXPECT_EQ(c->AllReduce(x), absl::OkStatus());
        EXPECT_EQ(x.data<float>()[0], float(size_));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  const int size_;
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

}  // namespace
}  // namespace dtnn
