// Two ranks of one process, over connections that change what one of them sends.

#include "comm/ranks/exchange/exchange_process.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/tensor.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr size_t kAll = std::numeric_limits<size_t>::max();

// One end of a pair of sockets. Of what is as long as a signature, byte `at` is changed. Counts the
// bytes that it sends; after so many as `last` the connection is gone, as if its process were.
class SignatureChanger : public Stream {
 public:
  SignatureChanger(int descriptor, int at, std::atomic<size_t>* sent, size_t last = kAll)
      : descriptor_(descriptor), at_(at), sent_(sent), left_(last) {}
  ~SignatureChanger() override { close(descriptor_); }

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    const ssize_t n = recv(descriptor_, into.data(), into.size(), MSG_DONTWAIT);
    if (n > 0) return size_t(n);
    if (n < 0 && errno == EAGAIN) return size_t{0};
    return absl::OutOfRangeError("closed");
  }
  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    size_t total = 0;
    for (const std::span<const std::byte> range : from) {
      std::vector<std::byte> bytes(range.begin(), range.end());
      if (at_ >= 0 && bytes.size() == sizeof(CallSignature)) bytes[size_t(at_)] = std::byte{200};
      bytes.resize(std::min(bytes.size(), left_));
      const ssize_t n = send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n > 0) left_ -= size_t(n);
      if (left_ == 0) shutdown(descriptor_, SHUT_RDWR);
      total += n < 0 ? 0 : size_t(n);
      if (n < ssize_t(range.size())) break;
    }
    if (sent_ != nullptr) *sent_ += total;
    return total;
  }
  void CloseWriting() override { shutdown(descriptor_, SHUT_WR); }
  int descriptor() const override { return descriptor_; }
  absl::StatusOr<std::vector<uint8_t>> binding() const override { return std::vector<uint8_t>(); }

 private:
  const int descriptor_, at_;
  std::atomic<size_t>* const sent_;
  size_t left_;
};

Mesh MeshOf(int rank, int descriptor, int change, std::atomic<size_t>* sent = nullptr,
            size_t last = kAll) {
  Mesh mesh;
  mesh.links.resize(2);
  mesh.links[size_t(1 - rank)] = {
      std::make_unique<SignatureChanger>(descriptor, change, sent, last), "pair"};
  FindPlace(rank, std::vector<uint64_t>{1, 1}, mesh);
  return mesh;
}

// What a barrier returns on rank 0 where rank 1's signature has that byte changed; -1: none.
absl::Status BarrierWith(int change) {
  std::array<int, 2> pair;
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
  std::array<absl::Status, 2> ends;
  const auto run = [&](int rank) {
    const CommunicatorOptions options = {.timeout = std::chrono::minutes(1), .check_calls = true};
    ExchangeProcess process(options, MeshOf(rank, pair[size_t(rank)], rank == 1 ? change : -1));
    const auto communicator = Must(process.Connect(options));
    ends[size_t(rank)] = communicator->Barrier();
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  return ends[0];
}

TEST(ExchangeProcessTest, SignaturesThatNoCallHasAreNamed) {
  EXPECT_EQ(BarrierWith(-1), absl::OkStatus());
  for (const size_t at : {offsetof(CallSignature, kind), offsetof(CallSignature, op),
                          offsetof(CallSignature, dtype)}) {
    const absl::Status end = BarrierWith(int(at));
    EXPECT_TRUE(absl::IsInvalidArgument(end)) << end;
    EXPECT_THAT(std::string(end.message()),
                HasSubstr("another rank sent bytes that are not a call"));
  }
}

// Rank 0 begins all calls before rank 1 begins the first: that one learns it by a message, which
// comes after all that rank 0 has told it about them.
void SumWhereOneRankIsAhead(bool check_calls) {
  constexpr int64_t kCalls = 40000;
  std::array<int, 2> pair;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
  std::atomic<size_t> sent = 0;
  const auto run = [&](int rank) {
    const CommunicatorOptions options = {.timeout = std::chrono::minutes(1),
                                         .check_calls = check_calls};
    ExchangeProcess process(options,
                            MeshOf(rank, pair[size_t(rank)], -1, rank == 0 ? &sent : nullptr));
    const auto communicator = Must(process.Connect(options));
    const Tensor flag = Must(Tensor::Allocate(Device::Cpu(), DType::kFloat32, {1}));
    const Tensor values = Must(Tensor::Allocate(Device::Cpu(), DType::kFloat32, {2 * kCalls}));
    for (int64_t i = 0; i < 2 * kCalls; ++i) values.data<float>()[i] = float(i * (rank + 1));
    if (rank == 1) {
      EXPECT_EQ(communicator->Receive(flag, 0), absl::OkStatus());
      EXPECT_LT(sent.load(), size_t{64} << 10);
    }
    std::vector<std::unique_ptr<Work>> works;
    for (int64_t i = 0; i < kCalls; ++i) {
      works.push_back(communicator->AllReduceAsync(values.Samples(2 * i, 2, TensorFormat::kNHWC)));
    }
    if (rank == 0) {
      EXPECT_EQ(communicator->Send(flag, 1), absl::OkStatus());
    }
    // It is over only when all others have begun.
    EXPECT_EQ(works.back()->Wait(), absl::OkStatus());
    for (const std::unique_ptr<Work>& work : works) ASSERT_EQ(work->Wait(), absl::OkStatus());
    for (int64_t i = 0; i < 2 * kCalls; ++i) {
      ASSERT_EQ(values.data<float>()[i], float(i * 3)) << i;
    }
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
}

TEST(ExchangeProcessTest, ARankThatIsAheadByManySmallCallsTellsFewOfThem) {
  SumWhereOneRankIsAhead(/*check_calls=*/false);
}

TEST(ExchangeProcessTest, ARankThatIsAheadByManyCheckedCallsTellsFewOfThem) {
  SumWhereOneRankIsAhead(/*check_calls=*/true);
}

// What both ranks get, and whom they miss, where rank 1 is gone in the middle of a call.
void LoseRankOneIn(absl::FunctionRef<absl::Status(Communicator&, const Tensor&)> call) {
  constexpr int64_t kPart = 1 << 20;
  std::array<int, 2> pair;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
  const auto run = [&](int rank) {
    const CommunicatorOptions options = {.timeout = std::chrono::minutes(1)};
    const size_t last = rank == 1 ? 2 * kPart : kAll;
    ExchangeProcess process(options, MeshOf(rank, pair[size_t(rank)], -1, nullptr, last));
    const auto communicator = Must(process.Connect(options));
    const Tensor x = Must(Tensor::Zeros(DType::kFloat32, {2, kPart}));
    const absl::Status status = call(*communicator, x);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_EQ(communicator->lost(), std::vector<int>{1 - rank});
    EXPECT_EQ(communicator->Barrier(), status);
    if (rank == 1) return;
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 at pair is gone"));
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
}

TEST(ExchangeProcessTest, ARankThatIsGoneInTheMiddleOfACallIsNamed) {
  LoseRankOneIn([](Communicator& c, const Tensor& x) { return c.AllReduce(x); });
  LoseRankOneIn([](Communicator& c, const Tensor& x) {
    const Tensor sum = Must(Tensor::Zeros(DType::kFloat32, {x.num_elements() / 2}));
    return c.ReduceScatter(x, sum);
  });
  LoseRankOneIn([](Communicator& c, const Tensor& x) {
    return c.AllToAll(x, Must(Tensor::Zeros(DType::kFloat32, x.shape())));
  });
}

// Its thread would never wake.
TEST(ExchangeProcessTest, WithoutADescriptorToWakeItsThreadItSaysSo) {
  for (const int size : {1, 2}) {
    std::array<int, 2> pair;
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
    Mesh mesh;
    if (size == 2) {
      mesh = MeshOf(0, pair[0], -1);
    } else {
      mesh.links.resize(1);
      FindPlace(0, std::vector<uint64_t>{1}, mesh);
    }
    const CommunicatorOptions options = {.timeout = std::chrono::seconds(1)};
    std::optional<testing::NoNewDescriptors> none(std::in_place);
    ExchangeProcess process(options, std::move(mesh));
    none.reset();
    for (const absl::Status& status : {process.Connect(options).status(), process.Finish()}) {
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("Too many open files"));
    }
    close(pair[1]);
    if (size == 1) close(pair[0]);
  }
}

}  // namespace
}  // namespace dtnn
